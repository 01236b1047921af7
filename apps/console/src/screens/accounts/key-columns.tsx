import type { Credential } from '@quartermaster/client';
import type { Column } from '../../components/data-table.tsx';
import { Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { AccountName } from '../../components/principal.tsx';
import { Time } from '../../components/time.tsx';
import { AccountLink } from './account-link.tsx';
import { Expiry } from './expiry.tsx';
import { KeyStatus } from './key-status.tsx';

/** The columns of API keys, wherever they are listed. */
export const KEY_COLUMNS: Column<Credential>[] = [
  {
    key: 'key',
    header: 'Key',
    width: 'minmax(200px, 1.6fr)',
    cell: ({ name, prefix }) => (
      <span className="row">
        <strong className="truncate">{name ?? 'without a name'}</strong>
        <code className="dim truncate">{prefix}</code>
      </span>
    ),
  },
  {
    key: 'owner',
    header: 'Of account',
    width: 'minmax(140px, 1fr)',
    cell: ({ ownerId, tenantId }) =>
      ownerId === null ? null : (
        <AccountLink id={ownerId} tenantId={tenantId}>
          <AccountName id={ownerId} tenantId={tenantId} />
        </AccountLink>
      ),
  },
  { key: 'place', isWideOnly: true, header: 'Tenant', width: 'minmax(120px, 1fr)', cell: placeOf },
  { key: 'status', header: 'Status', width: '100px', cell: ({ status }) => <KeyStatus status={status} /> },
  {
    key: 'expires',
    header: 'Expires',
    width: '110px',
    cell: ({ expiresAt, status }) => <Expiry at={expiresAt} isSoon={status === 'expiring'} />,
  },
  {
    key: 'used',
    isWideOnly: true,
    header: 'Last used',
    width: '110px',
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
  },
  {
    key: 'scopes',
    isWideOnly: true,
    header: 'Scopes',
    width: 'minmax(160px, 1.6fr)',
    cell: ({ scopes }) => (
      <span className="row" title={scopes.join(', ')}>
        {scopes.slice(0, 2).map((scope) => (
          <Tag key={scope}>{scope === '*' ? 'everything' : scope}</Tag>
        ))}
        {scopes.length > 2 && <span className="dim">and {scopes.length - 2} more</span>}
      </span>
    ),
  },
  {
    key: 'created',
    isWideOnly: true,
    header: 'Created',
    width: '100px',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];
