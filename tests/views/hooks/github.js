// Refuses what is asked for without a name.
export function validate_auth(context, args) {
  if (args.owner === "forbidden") {
    return { abort: true, abort_reason: "Authentication required" };
  }
}
