// Searches code with words from the knowledge base.
export const contextual_code_search = {
  description: "Search code with knowledge base context",
  inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  async run({ query }, ctx) {
    const knowledge = await ctx.call("redis-memory-server.search_long_term_memory", { text: query });
    const enriched = `${query} ${Object.keys(knowledge).join(" ")}`;
    const code = await ctx.call("github.search_code", { query: enriched });
    return { query, enriched_query: enriched, knowledge_context: knowledge, code_matches: code };
  },
};
