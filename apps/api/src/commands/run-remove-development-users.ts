import { readIssuer } from '../config.ts';
import { installation } from '../installation.ts';
import { type Removed, removeDevelopmentUsers } from '../server/development-users.ts';
import { type Invocation, runCommand } from './run-command.ts';
import { withDatabase } from './with-database.ts';

const usage = `${installation.commandLine('remove-development-users')}

Prepares a development database for production. Removes the users of the development identity provider (${installation.commandLine('dev')}) and their
memberships from the database that DATABASE_URL names. Revokes the API keys that they created, including those of erased users,
and ends their gateway sessions. QM_SECRET_KEY has the same meaning as for the server.`;

/** Removes the users of the development identity provider, and prints what it ended. @returns the exit code */
export function runRemoveDevelopmentUsers(invocation: Invocation): Promise<number> {
  const { environment, stdout } = invocation;
  const run = async () => {
    const removed = await withDatabase(environment, (services) =>
      removeDevelopmentUsers(services, readIssuer(environment)),
    );
    stdout.write(report(removed));
    return 0;
  };
  return runCommand({ usage, options: [], run }, invocation);
}

function nameOf({ id, email, platformAdministrator, erased }: Removed['user']): string {
  if (erased) return `removed ${id}, who was erased before`;
  return `removed ${email ?? id}${platformAdministrator ? ', a platform administrator' : ''} (${id})`;
}

function report(removed: readonly Removed[]): string {
  if (removed.length === 0) return 'There are no users of the development identity provider.\n';
  const lines = removed.flatMap(({ user, keys, sessions }) => [
    nameOf(user),
    ...keys.map(({ id, accountId, tenantId }) => `  revoked ${id} of ${accountId} in ${tenantId}`),
    ...(sessions > 0 ? [`  ended ${sessions} gateway sessions`] : []),
  ]);
  const next = 'The audit shows their other changes: GET /v1/audit-events?actor_id=<user id>.';
  return `${lines.join('\n')}\n\n${next}\n`;
}
