/** A package, and a program that uses it without a network. */
export type Library = {
  name: string;
  /** Whether programs in a browser use it. The others are for servers, and are bundled for Node. */
  isForBrowsers: boolean;
  /** What attw has to check, because it cannot guess entries from a pattern. */
  entries: readonly string[];
  imports: Record<string, string>;
  /** The body of an asynchronous function. */
  program: string;
  /** What the function returns. */
  expected: string;
  /** What users install beside it. */
  peers?: Record<string, string>;
};

const GUARD = {
  '@quartermaster/gateway': 'createGuard',
};
const OFFLINE = `const guard = createGuard({ issuer: 'https://qm.example.com', gatewayId: 'gw_01', fetch: async () => new Response('', { status: 500 }) });`;

export const LIBRARIES: readonly Library[] = [
  {
    name: 'client',
    isForBrowsers: true,
    entries: ['.', 'client'],
    imports: { '@quartermaster/client': 'listProviders', '@quartermaster/client/client': 'createClient' },
    program: `
      const fetch = async (request) => Response.json({ path: new URL(request.url).pathname });
      const client = createClient({ baseUrl: 'https://qm.example.com', fetch });
      return (await listProviders({ client })).data.path;`,
    expected: '/v1/providers',
  },
  {
    name: 'contracts',
    isForBrowsers: true,
    entries: ['providers', 'errors'],
    imports: { '@quartermaster/contracts/providers': 'CreateProviderInputSchema' },
    program: `return CreateProviderInputSchema.parse({ name: 'openai', kind: 'llm' }).name;`,
    expected: 'openai',
  },
  {
    name: 'naming',
    isForBrowsers: true,
    entries: ['vendors', 'model-name'],
    imports: { '@quartermaster/naming/vendors': 'canonicalVendor' },
    program: `return canonicalVendor('azure.ai.openai');`,
    expected: 'azure.ai.openai',
  },
  {
    name: 'gateway',
    isForBrowsers: true,
    entries: ['.'],
    imports: GUARD,
    program: `${OFFLINE}
      return guard.session('a.b.c').catch(({ code }) => code);`,
    expected: 'token_invalid',
  },
  {
    name: 'langchain',
    isForBrowsers: false,
    entries: ['.'],
    imports: { ...GUARD, '@quartermaster/langchain': 'quartermaster' },
    program: `${OFFLINE}
      return quartermaster({ guard, providerOf: () => null }).name;`,
    expected: 'Quartermaster',
    peers: { '@quartermaster/gateway': '*', langchain: '1.5.14', '@langchain/core': '1.4.0' },
  },
  {
    name: 'ai-sdk',
    isForBrowsers: false,
    entries: ['.'],
    imports: { ...GUARD, '@quartermaster/ai-sdk': 'guardTools', ai: 'tool, jsonSchema' },
    program: `${OFFLINE}
      const echo = tool({ inputSchema: jsonSchema({ type: 'object' }), execute: () => 'echo' });
      return Object.keys(guardTools({ echo }, { session: guard, providerOf: () => null }).tools).join();`,
    expected: 'echo',
    peers: { '@quartermaster/gateway': '*', ai: '7.0.173' },
  },
];

/** The program as a file of its own that prints what it found, or as a module that exports `use`. */
export function programOf({ imports, program }: Library, format: 'mjs' | 'cjs' | 'module'): string {
  const lines = Object.entries(imports).map(([from, names]) =>
    format === 'cjs' ? `const { ${names} } = require('${from}');` : `import { ${names} } from '${from}';`,
  );
  const use = `async function use() {${program}\n}`;
  const end = format === 'module' ? 'export { use };' : 'use().then((result) => console.log(result));';
  return [...lines, use, end, ''].join('\n');
}
