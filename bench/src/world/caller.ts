/** Calls the API with one key. */
export type Caller = {
  get: (path: string) => Promise<Record<string, unknown>>;
  getText: (path: string) => Promise<string>;
  post: (path: string, body: unknown) => Promise<Record<string, unknown>>;
  put: (path: string, body: unknown) => Promise<void>;
  sendSpans: (bytes: Buffer) => Promise<void>;
};

export function callerAt(port: number, key: string): Caller {
  const send = async (method: string, path: string, contentType?: string, body?: string | Buffer) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'X-API-Key': key, ...(contentType !== undefined && { 'Content-Type': contentType }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  };
  return {
    getText: (path) => send('GET', path),
    get: async (path) => JSON.parse(await send('GET', path)) as Record<string, unknown>,
    post: async (path, body) =>
      JSON.parse(await send('POST', path, 'application/json', JSON.stringify(body))) as Record<string, unknown>,
    put: async (path, body) => {
      await send('PUT', path, 'application/json', JSON.stringify(body));
    },
    sendSpans: async (bytes) => {
      await send('POST', '/v1/traces', 'application/x-protobuf', bytes);
    },
  };
}
