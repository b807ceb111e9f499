// Adds who asks to every call, and hides keys in what comes back.
export function pre_call(context, args) {
  if (!("user_id" in args)) args.user_id = context.principal || "nobody";
  return { args };
}

export function post_call(context, args, result, data) {
  if (data && typeof data === "object" && "api_key" in data) {
    return { data: { ...data, api_key: "***REDACTED***" } };
  }
}
