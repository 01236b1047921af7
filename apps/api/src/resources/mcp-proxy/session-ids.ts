import type { SecretBox } from '../../platform/secret-box.ts';

/** Who may use an MCP session. */
export type SessionIdOwner = { tenantId: string; subject: string; gatewayId: string; providerId: string };

const PURPOSE = 'mcp sessions';

/**
 * The id of an MCP session as a client gets it: `<MAC>.<the server's id>`. All agents share the credential of the provider, so the
 * server cannot tell them apart. The MAC is what keeps one agent out of the session of another one.
 */
export function sealSessionId(secrets: Pick<SecretBox, 'mac'>, owner: SessionIdOwner, id: string): string {
  return `${secrets.mac(PURPOSE, textOf(owner, id))}.${id}`;
}

/** The server's id. @returns null if the session is not one of the owner */
export function openSessionId(
  secrets: Pick<SecretBox, 'macKey'>,
  owner: SessionIdOwner,
  sealed: string,
): string | null {
  const dot = sealed.indexOf('.');
  if (dot < 0) return null;
  const id = sealed.slice(dot + 1);
  return secrets.macKey(PURPOSE, textOf(owner, id), sealed.slice(0, dot)) === null ? null : id;
}

function textOf({ tenantId, subject, gatewayId, providerId }: SessionIdOwner, id: string): string {
  return JSON.stringify([tenantId, subject, gatewayId, providerId, id]);
}
