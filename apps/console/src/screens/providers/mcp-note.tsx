import type { Provider } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { StateMark } from '../../components/marks.tsx';
import { Time } from '../../components/time.tsx';

const CHECKS = {
  verified: { label: 'headers are compared with bodies', tone: 'live' },
  trusted: { label: 'trusted to compare headers with bodies', tone: 'quiet' },
  unknown: { label: 'not known whether headers are compared with bodies', tone: 'quiet' },
  failed: { label: 'headers are not compared with bodies', tone: 'danger' },
} as const;

/** What syncs found out about an MCP server: whether reverse proxies may decide by headers alone. */
export function McpNote({ mcp }: { mcp: NonNullable<Provider['mcp']> }): ReactNode {
  const { headerChecks, checkedAt, protocolVersions } = mcp;
  const { label, tone } = CHECKS[headerChecks];
  return (
    <>
      <StateMark state={label} tone={tone} />
      <span>
        {checkedAt === null ? (
          'never tried'
        ) : (
          <>
            tried <Time at={checkedAt} />
          </>
        )}
        {protocolVersions.length > 0 && `, MCP ${protocolVersions.join(', ')}`}
      </span>
    </>
  );
}
