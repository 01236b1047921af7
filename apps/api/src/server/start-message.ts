import pino from 'pino';
import { type Config, VERSION } from '../config.ts';
import { installation } from '../installation.ts';
import type { RunningServer } from './start.ts';

const DEVELOPMENT = `This is the development start. For production use ${installation.commandLine('serve')}.`;

/**
 * What the service prints on a terminal once it listens. It includes the bootstrap key if this start generated it. The last lines
 * say what to do next, because nothing is printed after them until a request fails.
 */
export function startMessage(server: RunningServer, config: Config): string {
  const { publicUrl, bootstrapKey, devSignIn } = server;
  const about = [
    ...(config.mode === 'development' ? [DEVELOPMENT] : []),
    `API reference:     ${publicUrl}/docs`,
    `OTLP/gRPC:         ${howToSendGrpc(server, config)}`,
    `bearer token:      ${howToGetToken(server, config)}`,
    ...(bootstrapKey === null ? [] : [`bootstrap API key: ${bootstrapKey}`]),
    '',
  ];
  const next = [
    ...(devSignIn === null ? [] : [`browser sign-in:   ${devSignIn.link}`]),
    `Quartermaster listens on ${server.url}`,
    ...(config.console ? [`connect an agent:  ${publicUrl}/console/connect`] : []),
  ];
  return `${[...about, ...next].join('\n')}\n`;
}

/**
 * What the service writes if standard output is not a terminal: log lines without secrets, at every QM_LOG_LEVEL. A supervisor
 * may wait for them.
 */
export function writeStartLog(server: RunningServer, config: Config, stdout: NodeJS.WritableStream): void {
  const { url, grpcUrl, publicUrl, bootstrapKeyFile, devSignIn } = server;
  const log = pino({ level: 'info' }, stdout);
  if (config.mode === 'development') log.warn(DEVELOPMENT);
  if (bootstrapKeyFile !== null) {
    const todo = '(only its owner can read it; delete it once the key is stored)';
    log.info({ bootstrapKeyFile }, `bootstrap API key file: ${bootstrapKeyFile} ${todo}`);
  }
  if (devSignIn !== null) {
    const { secretFile } = devSignIn;
    log.info({ secretFile }, `sign-in secret file: ${secretFile} (the development identity provider asks for it)`);
  }
  log.info({ grpcUrl }, `OTLP/gRPC: ${howToSendGrpc(server, config)}`);
  log.info({ publicUrl }, `bearer token: ${howToGetToken(server, config)}`);
  log.info({ url, publicUrl, version: VERSION }, `Quartermaster listens on ${url} (version ${VERSION})`);
}

function howToSendGrpc({ grpcUrl }: RunningServer, { otlpGrpcPort }: Config): string {
  if (grpcUrl !== null) return grpcUrl;
  return otlpGrpcPort === null ? 'off' : `off, because the server cannot listen on port ${otlpGrpcPort}`;
}

function howToGetToken({ trustedIssuer }: RunningServer, config: Config): string {
  if (config.devIdentity) return devTokenCommand(config);
  return trustedIssuer.issuer === null ? 'set QM_OIDC_ISSUER to accept bearer tokens' : `from ${trustedIssuer.issuer}`;
}

/** The command finds the server by the same variables. */
function devTokenCommand({ host, port }: Config): string {
  const where = `${host === '127.0.0.1' ? '' : `HOST=${host} `}${port === 8080 ? '' : `PORT=${port} `}`;
  return `${where}${installation.commandLine('dev-token')}`;
}
