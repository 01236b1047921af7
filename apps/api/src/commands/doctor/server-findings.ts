import { connect } from 'node:net';
import { VERSION } from '../../config.ts';
import type { Invocation } from '../run-command.ts';
import { checkBuffering } from './buffering.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';

/** A request that takes longer has failed, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** More makes tokens and sessions appear expired, or not valid yet. In seconds. */
const CLOCK_TOLERANCE_S = 60;

/** The default limit of nginx is 1 MiB. Exporters send larger bodies. */
const LARGE_BODY_BYTES = 1_500_000;

const HOW_TO_FIND = 'docs/operations.md says what a proxy in front has to do';

type Answer = { status: number; headers: Headers; text: string };

/** Checks a server by its address, as an exporter or a browser reaches it. The requests store nothing. */
export async function checkServer(url: string, environment: Invocation['environment']): Promise<Finding[]> {
  const health = await request(`${url}/healthz`);
  if ('error' in health) return [unreachable(url, health.error)];
  if (health.status >= 300 && health.status < 400) {
    const target = health.headers.get('location') ?? 'another address';
    return [failed('address', `${url} redirects to ${target}`, 'use that address: exporters do not follow redirects')];
  }
  if (health.status !== 200 || fieldOf(health, 'status') !== 'ok') {
    const found = `${url} answers ${health.status}, but not as Quartermaster`;
    return [failed('address', found, 'check host, port and path: another program or a proxy answers there')];
  }
  const key = environment['QM_API_KEY'] || null;
  return [
    ok('address', `${url} answers`),
    await readiness(url),
    clock(health),
    await version(url),
    requestId(health),
    await bodySize(url),
    ...(await checkBuffering(url)),
    ...(await credential(url, key)),
    ...(await exporter(url, environment)),
  ];
}

function unreachable(url: string, error: Error): Finding {
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = 'code' in cause ? String(cause.code) : cause.name;
  const found = `${url} does not answer: ${code}`;
  if (/CERT|SIGNED|SSL|TLS|ALTNAME|ISSUER/.test(code)) {
    return failed(
      'address',
      found,
      'the certificate is not trusted: set NODE_EXTRA_CA_CERTS to the one of your authority',
    );
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return failed('address', found, 'the name is not in DNS: check it');
  return failed('address', found, 'start the server, or set --url, HOST and PORT to where it listens');
}

async function readiness(url: string): Promise<Finding> {
  const answer = await request(`${url}/readyz`);
  if (!('error' in answer) && answer.status === 200) return ok('ready', 'the server and its database are ready');
  const found = 'error' in answer ? 'no answer' : `/readyz answers ${answer.status}`;
  return failed('ready', found, 'the server starts, stops, or cannot reach its database: its log has the cause');
}

function clock({ headers }: Answer): Finding {
  const date = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(date)) return skipped('clock', 'the answer has no date');
  const seconds = Math.round((Date.now() - date) / 1000);
  if (Math.abs(seconds) <= CLOCK_TOLERANCE_S) return ok('clock', 'this machine and the server agree');
  const found = `this machine is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the server`;
  return failed('clock', found, 'set both clocks by NTP: otherwise tokens and spans have wrong times');
}

/** The version, and the public URL, which the document names. */
async function version(url: string): Promise<Finding> {
  const answer = await request(`${url}/openapi.json`);
  const document = 'error' in answer ? null : parse(answer.text);
  const info = document?.['info'] as { version?: string } | undefined;
  const [server] = (document?.['servers'] ?? []) as { url?: string }[];
  if (info?.version === undefined) return failed('version', 'the server does not say its version', HOW_TO_FIND);
  if (server?.url !== undefined && new URL(server.url, url).href !== new URL(url).href) {
    const fix = 'call the public URL, or set QM_PUBLIC_URL to the address that callers use';
    return warning('version', `version ${info.version}; its public URL is ${server.url}, and not ${url}`, fix);
  }
  if (info.version === VERSION) return ok('version', `version ${VERSION}, public URL ${url}`);
  return warning(
    'version',
    `the server is ${info.version}, this command is ${VERSION}`,
    'use the command of that version',
  );
}

function requestId({ headers }: Answer): Finding {
  if (headers.has('x-request-id')) return ok('headers', 'headers of answers arrive');
  return failed('headers', 'X-Request-Id is missing in the answer', `a proxy drops headers: ${HOW_TO_FIND}`);
}

/** A body without spans, filled up with spaces. Without a key the server refuses it before it reads it. */
async function bodySize(url: string): Promise<Finding> {
  const answer = await sendTraces(url, null, LARGE_BODY_BYTES);
  if ('error' in answer)
    return failed('large bodies', 'a body of 1.5 MB gets no answer', `allow 64 MiB: ${HOW_TO_FIND}`);
  if (answer.status !== 413) return ok('large bodies', 'bodies of 1.5 MB arrive');
  return failed(
    'large bodies',
    'a body of 1.5 MB is refused (413)',
    'allow 64 MiB in the proxy; nginx: client_max_body_size 64m',
  );
}

async function credential(url: string, key: string | null): Promise<Finding[]> {
  if (key === null) return [skipped('key', 'set QM_API_KEY to check a key')];
  const answer = await request(`${url}/v1/me`, { headers: { 'X-API-Key': key } });
  if ('error' in answer) return [failed('key', 'no answer', HOW_TO_FIND)];
  const code = fieldOf(answer, 'code');
  if (code === 'credentials_missing') {
    return [failed('key', 'the server got no key', `a proxy drops the header X-API-Key: ${HOW_TO_FIND}`)];
  }
  if (code === 'credentials_invalid') {
    return [
      failed('key', 'the key is not valid: unknown, revoked or expired', 'create a key for the account, or rotate it'),
    ];
  }
  if (answer.status !== 200) {
    return [
      failed(
        'key',
        `the server answers ${answer.status} ${code ?? ''}`.trim(),
        fieldOf(answer, 'detail') ?? HOW_TO_FIND,
      ),
    ];
  }
  const me = parse(answer.text) as unknown as Me;
  const places = me.places.map(({ tenantId, scopes }) => `${tenantId} (${scopes.join(', ')})`);
  const rights = me.platformAdministrator ? 'a platform administrator' : `valid for ${places.join('; ') || 'nothing'}`;
  return [ok('key', `${me.principal}: ${rights}`), await ingest(url, key), await telemetry(url, key, me)];
}

type Me = {
  id: string;
  principal: string;
  kind: string;
  platformAdministrator: boolean;
  places: { tenantId: string; scopes: string[] }[];
};

/** Sends an export without spans. */
async function ingest(url: string, key: string): Promise<Finding> {
  const answer = await sendTraces(url, key, 0);
  if ('error' in answer) return failed('traces', 'the request gets no answer', HOW_TO_FIND);
  if (answer.status === 200) return ok('traces', 'the key may send traces, and they arrive');
  const message = fieldOf(answer, 'message') ?? `status ${answer.status}`;
  if (answer.status === 403) return warning('traces', message, 'exporters need a key with the scope traces:write');
  return failed('traces', message, 'the message says what is wrong with the request');
}

/** What the server understood of what was sent before. */
async function telemetry(url: string, key: string, me: Me): Promise<Finding> {
  const check = 'telemetry';
  const answer = await request(`${url}/v1/telemetry-health?limit=100`, { headers: { 'X-API-Key': key } });
  if ('error' in answer || answer.status !== 200) return skipped(check, 'the key may not read it (credentials:read)');
  const { items } = parse(answer.text) as unknown as { items: TelemetryOfAccount[] };
  const all = items.flatMap(({ serviceAccountId, keys }) => keys.map((sent) => ({ ...sent, serviceAccountId })));
  if (all.length === 0)
    return warning(check, 'no account has sent telemetry yet', 'connect an agent: <url>/console/connect');
  const wrong = all.find(({ problems, fix }) => problems.length > 0 || fix !== null);
  if (wrong === undefined) return ok(check, `understood of ${all.length} keys`);
  const [problem] = wrong.problems;
  const found = problem === undefined ? 'nothing was understood' : `${problem.reason}: ${problem.detail ?? ''}`;
  return warning(check, `${wrong.serviceAccountId}: ${found}`, problem?.fix ?? wrong.fix ?? me.principal);
}

type TelemetryOfAccount = {
  serviceAccountId: string;
  keys: { fix: string | null; problems: { reason: string; detail: string | null; fix: string }[] }[];
};

/** The variables of an OpenTelemetry SDK, if this shell has them. */
async function exporter(url: string, environment: Invocation['environment']): Promise<Finding[]> {
  const check = 'exporter';
  const endpoint = environment['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (!endpoint) return [skipped(check, 'OTEL_EXPORTER_OTLP_ENDPOINT is not set in this shell')];
  const target = URL.parse(endpoint);
  if (target === null) return [failed(check, 'OTEL_EXPORTER_OTLP_ENDPOINT is not a URL', `set it to ${url}`)];
  const protocol = environment['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? 'http/protobuf';
  const port = Number(target.port || (target.protocol === 'https:' ? 443 : 80));
  if (!(await isOpen(target.hostname, port))) {
    return [failed(check, `nothing listens at ${target.host}`, `set OTEL_EXPORTER_OTLP_ENDPOINT to ${url}`)];
  }
  const isHttp = await request(`${target.origin}/healthz`).then((answer) => !('error' in answer));
  if (protocol === 'grpc' && isHttp) {
    const fix = 'set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or use the port of OTLP/gRPC (4317)';
    return [failed(check, `the protocol is grpc, and ${target.host} takes HTTP`, fix)];
  }
  if (protocol !== 'grpc' && !isHttp) {
    const fix = `set OTEL_EXPORTER_OTLP_PROTOCOL=grpc, or OTEL_EXPORTER_OTLP_ENDPOINT=${url}`;
    return [failed(check, `the protocol is ${protocol}, and ${target.host} takes gRPC`, fix)];
  }
  if (!/(^|,)\s*(x-api-key|authorization)=/i.test(environment['OTEL_EXPORTER_OTLP_HEADERS'] ?? '')) {
    return [failed(check, 'OTEL_EXPORTER_OTLP_HEADERS has no key', 'set it to x-api-key=<the key>')];
  }
  return [ok(check, `${protocol} to ${target.host}, with a key`)];
}

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: TIMEOUT_MS });
    const finish = (isConnected: boolean) => {
      socket.destroy();
      resolve(isConnected);
    };
    socket.once('connect', () => finish(true));
    socket.once('timeout', () => finish(false));
    socket.once('error', () => finish(false));
  });
}

function sendTraces(url: string, key: string | null, padding: number) {
  return request(`${url}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key !== null && { 'X-API-Key': key }) },
    body: `{"resourceSpans":[]${' '.repeat(padding)}}`,
  });
}

async function request(url: string, init: RequestInit = {}): Promise<Answer | { error: Error }> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetch(url, { ...init, redirect: 'manual', signal });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function fieldOf({ text }: Answer, name: string): string | null {
  const value = parse(text)?.[name];
  return typeof value === 'string' ? value : null;
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
