// Hooks and a tool to start from. A hook is given what is known of the call:
//   context = { view, server, tool, principal, client, readOnly, … }
// and answers with what it changes: { args }, { result } or { data }, { abort, abort_reason }, { meta }; nothing changes
// nothing. It reaches no file, network or process.

// pre_call sees the arguments before the server does.
export function pre_call(context, args) {
  if (context.tool.startsWith("delete_") && !context.principal) {
    return { abort: true, abort_reason: "Authentication required" };
  }
  return { args, meta: { "example/checked": true } };
}

// post_call sees the result before the agent does: result is the protocol's own, data is what it says.
export function post_call(context, args, result, data) {
  if (data && typeof data === "object" && "api_key" in data) {
    return { data: { ...data, api_key: "***REDACTED***" } };
  }
}

// everywhere is a tool of its own: it finds tools for a question and says their names.
export const everywhere = {
  description: "Names the tools that fit a question",
  inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  async run({ query }, ctx) {
    const found = await ctx.search({ query, limit: 5 });
    return { query, tools: found.map((hit) => `${hit.connection}.${hit.tool}`) };
  },
};
