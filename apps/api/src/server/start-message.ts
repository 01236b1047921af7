import type { Config } from '../config.ts';
import type { RunningServer } from './start.ts';

/** What the service prints once it listens. It shows the bootstrap key only where this start generated it. */
export function startMessage(server: RunningServer, config: Config): string {
  const lines = [
    `Quartermaster listens on ${server.url}`,
    `API reference:     ${server.publicUrl}/docs`,
    `bearer token:      ${config.devIdentity ? devTokenCommand(config) : tokenHint(server.services.issuer)}`,
  ];
  if (server.bootstrapKey !== null) lines.push(`bootstrap API key: ${server.bootstrapKey}`);
  return `${lines.join('\n')}\n`;
}

/** The command finds the server by the same variables. */
function devTokenCommand({ host, port }: Config): string {
  const where = `${host === '127.0.0.1' ? '' : `HOST=${host} `}${port === 8080 ? '' : `PORT=${port} `}`;
  return `${where}npm run --silent dev-token`;
}

function tokenHint(issuer: string | null): string {
  return issuer === null ? 'set QM_OIDC_ISSUER to take bearer tokens' : `from ${issuer}`;
}
