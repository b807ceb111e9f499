// A conversation of the TypeScript SDK's clients, for the script tests: node client.cjs ERA FACE (COMMAND [ARG …] | URL)
//
// ERA is 2025 (SDK 1) or 2026 (SDK 2, without sessions). FACE says how a tool of the server `everything` is called. Each step
// prints one line; a failed step prints `FAILED` and ends the program with 1. With REFERENCE=1 in the environment the server
// is the public reference server `everything`; with ACROSS=1 it is of the other era than the client.
const [era, face, ...target] = process.argv.slice(2);
const modern = era === '2026';
const sdk = modern ? require('@modelcontextprotocol/client') : {
  ...require('@modelcontextprotocol/sdk/client/index.js'),
  ...require('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  types: require('@modelcontextprotocol/sdk/types.js'),
};
const { StdioClientTransport } = modern ? require('@modelcontextprotocol/client/stdio') : require('@modelcontextprotocol/sdk/client/stdio.js');

const capabilities = { sampling: { tools: {} }, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
const client = new sdk.Client({ name: 'script', version: '1' }, modern ? { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } } : { capabilities });

const asked = [], heard = [];
function on(method, schema, answer) {
  const handler = async (request) => { asked.push(method); return answer(request.params ?? {}); };
  client.setRequestHandler(modern ? method : sdk.types[schema], handler);
}
on('elicitation/create', 'ElicitRequestSchema', (p) => p.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: Object.fromEntries((p.requestedSchema.required ?? []).map((name) => [name, 'Ada'])) });
on('sampling/createMessage', 'CreateMessageRequestSchema', (p) => ({ role: 'assistant', model: 'script', content: { type: 'text', text: p.tools ? `${p.tools.length} tool at hand` : 'Bern' }, stopReason: 'endTurn' }));
on('roots/list', 'ListRootsRequestSchema', () => ({ roots: [{ uri: 'file:///project', name: 'project' }] }));
function hear(method, schema) {
  client.setNotificationHandler(modern ? method : sdk.types[schema], async (n) => { heard.push({ method, params: n.params ?? {} }); });
}
hear('notifications/message', 'LoggingMessageNotificationSchema');
hear('notifications/tools/list_changed', 'ToolListChangedNotificationSchema');
hear('notifications/resources/updated', 'ResourceUpdatedNotificationSchema');

function wrap(name, args) {
  if (face === 'dispatch') return { name: 'proxy-dispatch', arguments: { action: 'call', tool: name, arguments: args } };
  if (face === 'proxy') return { name: 'proxy', arguments: { action: 'call', type: 'tool', path: `everything_${name}`, args } };
  return { name, arguments: args };
}
async function call(name, args = {}, options = {}, meta) {
  const params = wrap(name, args);
  if (meta) params._meta = meta;
  return modern ? client.callTool(params, options) : client.callTool(params, undefined, options);
}
const words = (r) => r.content.map((c) => c.text ?? c.resource?.text ?? c.type).join(' ') + (r.isError ? ' [isError]' : '');
async function until(what, holds) {
  for (let i = 0; i < 300; i++) { if (await holds()) return; await new Promise((go) => setTimeout(go, 50)); }
  throw new Error(`${what} did not happen`);
}
async function step(name, run) {
  try { console.log(`${name}: ${await run()}`); } catch (e) { console.log(`FAILED ${name}: ${e?.message ?? e} ${e?.data ? JSON.stringify(e.data) : ''}`); process.exitCode = 1; }
}

async function askedThrough() {
  await step('elicitation', async () => words(await call('test_elicitation', { message: 'Who are you?' })));
  await step('elicitation by url', async () => words(await call('test_elicitation_url')));
  await step('sampling', async () => words(await call('test_sampling', { prompt: 'Where?' })));
  await step('sampling with tools', async () => words(await call('test_sampling_with_tools')));
  await step('roots', async () => words(await call('test_roots')));
  await step('rounds', async () => words(await call('test_input_required_result_multi_round')));
  await step('three questions', async () => words(await call('test_input_required_result_multiple_inputs')).slice(0, 9));
}

async function during() {
  await step('progress', async () => {
    const seen = [];
    await call('test_tool_with_progress', {}, { onprogress: (p) => seen.push(p.progress) });
    return seen.join(' ');
  });
  await step('logging', async () => {
    if (!modern && !client.getServerCapabilities().logging) return 'not offered';
    if (!modern) await client.setLoggingLevel('debug');
    const before = heard.length;
    await call('relay_notes', { count: 5 }, {}, modern ? { 'io.modelcontextprotocol/logLevel': 'debug' } : undefined);
    return heard.slice(before).filter((n) => n.method === 'notifications/message').map((n) => n.params.data.note).join(' ');
  });
  await step('cancellation', async () => {
    const count = async () => Number(words(await call('relay_cancelled')));
    const before = await count();
    const stop = new AbortController();
    const ended = call('relay_wait', {}, { signal: stop.signal, onprogress: () => stop.abort('enough') }).then(() => 'answered', () => 'gave up');
    const how = await ended;
    await until('the cancellation at the server', async () => (await count()) === before + 1);
    return `${how}, the server stopped`;
  });
  await step('at once', async () => {
    const all = await Promise.all(Array.from({ length: 500 }, (_, i) => call('relay_echo', { i })));
    return all.filter((r, i) => words(r).includes(`"i":${i}`)).length;
  });
  await step('questions at once', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => call('test_roots')));
    return all.filter((r) => words(r).includes('file:///project')).length;
  });
}

async function natural() {
  await step('tools', async () => (await client.listTools()).tools.filter((t) => /test_simple_text$/.test(t.name)).length);
  await step('error', async () => { try { await call('relay_fault'); } catch (e) { return `${e.code} ${e.message} ${JSON.stringify(e.data)}`; } });
  await step('resource', async () => (await client.readResource({ uri: 'test://static-text' })).contents[0].text);
  await step('template', async () => (await client.readResource({ uri: 'test://template/7/data' })).contents[0].text);
  await step('resource that asks', async () => (await client.readResource({ uri: 'test://asks-first' })).contents[0].text);
  await step('prompt', async () => (await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } })).messages[0].content.text);
  await step('prompt that asks', async () => (await client.getPrompt({ name: 'test_input_required_result_prompt' })).messages[0].content.text);
  await step('completion', async () => (await client.complete({ ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'par' } })).completion.values.join(' '));
  await step('changes', async () => {
    const subscription = modern ? await client.listen({ toolsListChanged: true, resourceSubscriptions: ['test://watched-resource'] }) : undefined;
    if (!modern) await client.subscribeResource({ uri: 'test://watched-resource' });
    heard.length = 0;
    await call('relay_touch');
    await call('test_trigger_tool_change');
    await until('the news', () => ['notifications/resources/updated', 'notifications/tools/list_changed'].every((m) => heard.some((n) => n.method === m)));
    const updated = heard.find((n) => n.method === 'notifications/resources/updated').params.uri;
    await subscription?.close();
    return `${updated} and the tools`;
  });
  await step('ping', async () => modern ? '{}' : JSON.stringify(await client.ping()));
  if (modern || process.env.ACROSS) return; // a modern server asks in answers only
  await step('changed roots', async () => {
    await client.sendRootsListChanged();
    await until('the question for roots', () => heard.some((n) => n.params.data === '1 roots now'));
    return 'the server asked again';
  });
}

async function reference() {
  await step('elicitation', async () => words(await call('trigger-elicitation-request')));
  await step('sampling', async () => words(await call('trigger-sampling-request', { prompt: 'Where?' })));
  await step('roots', async () => words(await call('get-roots-list')));
  await step('progress', async () => {
    const seen = [];
    const answer = words(await call('trigger-long-running-operation', { duration: 0.4, steps: 4 }, { onprogress: (p) => seen.push(p.progress) }));
    return `${seen.join(' ')} ${answer}`;
  });
  if (face !== 'transparent') return;
  await step('logging', async () => { await client.setLoggingLevel('debug'); return 'level set'; });
  await step('resource', async () => (await client.readResource({ uri: 'demo://resource/static/document/features.md' })).contents[0].text.slice(0, 40));
  await step('prompt', async () => (await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Bern' } })).messages[0].content.text);
  await step('completion', async () => (await client.complete({ ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'E' } })).completion.values.join(' '));
  await step('subscription', async () => { await client.subscribeResource({ uri: 'demo://resource/dynamic/text/1' }); await client.unsubscribeResource({ uri: 'demo://resource/dynamic/text/1' }); return 'and its end'; });
}

async function main() {
  const transport = /^https?:/.test(target[0])
    ? new sdk.StreamableHTTPClientTransport(new URL(target[0]))
    : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env, stderr: 'ignore' });
  client.onerror = (e) => { if (process.env.VERBOSE) console.error('client:', e?.message ?? e); };
  await client.connect(transport);
  if (process.env.REFERENCE) {
    await reference();
  } else {
    await askedThrough();
    await during();
    if (face === 'transparent') await natural();
  }
  await client.close();
  console.log('closed');
}
main().then(() => process.exit(), (e) => { console.log('FAILED', e?.message ?? e); process.exit(1); });
