import { type DerivedAccess, listDerivedAccess } from '@quartermaster/client';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName, UserName } from '../../components/principal.tsx';
import { PrincipalFilter } from '../../components/principal-filter.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePagedList } from '../../data/pages.ts';
import { useUrlState } from '../../data/url-state.ts';
import { KIND_NAMES, RevokeForm } from './revoke-form.tsx';

const keyOf = ({ kind, id, tenantId, subTenantId }: DerivedAccess) =>
  `${kind}/${id}/${tenantId ?? ''}/${subTenantId ?? ''}`;

const COLUMNS: Column<DerivedAccess>[] = [
  {
    key: 'kind',
    header: 'Access',
    width: '150px',
    cell: ({ kind, isSuccessor }) => (
      <span className="row">
        {KIND_NAMES[kind]}
        {isSuccessor && <Tag>successor</Tag>}
      </span>
    ),
  },
  {
    key: 'holder',
    header: 'Who has it',
    width: 'minmax(150px, 1.5fr)',
    cell: ({ holder }) => <PrincipalName principal={holder} />,
  },
  { key: 'place', header: 'Where', width: 'minmax(120px, 1fr)', cell: placeOf },
  {
    key: 'by',
    header: 'Given by',
    width: 'minmax(120px, 1fr)',
    cell: ({ grantedBy }) => <PrincipalName principal={grantedBy} />,
  },
  {
    key: 'created',
    isWideOnly: true,
    header: 'Since',
    width: '104px',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  { key: 'expires', header: 'Ends', width: '104px', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  { key: 'id', isWideOnly: true, header: 'Id', width: 'minmax(110px, 1fr)', cell: ({ id }) => <CopyId id={id} /> },
];

/** What a user, service account or key gave to others: an offboarding revokes it. */
export function AccessScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const { source = '' } = state;
  const query = { source };
  const list = usePagedList({
    key: ['derived-access', source],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listDerivedAccess({ query: page, signal, throwOnError: true })).data;
    },
    enabled: source !== '',
  });
  const { selected, selection } = useSelection(list.items);
  return (
    <Screen
      title="Derived access"
      above={<Link to="/people">People</Link>}
      summary={
        source === '' ? (
          'Keys, sessions, invitations and memberships that a user, service account or API key created.'
        ) : (
          <p>
            Keys, sessions, invitations and memberships that <SourceName source={source} /> created, directly or through
            them. Keys and memberships stay valid when their creator is disabled.
          </p>
        )
      }
      request={{ method: 'GET', path: '/v1/derived-access', query }}
      actions={
        <ActionButton
          scope="credentials:write"
          isDanger
          disabledReason={reasonNotToRevoke(list.items, selected)}
          onClick={() => setState({ revoke: '1' })}
        >
          {selected.length === 0 ? 'Revoke' : `Revoke ${selected.length} selected`}
        </ActionButton>
      }
      toolbar={<PrincipalFilter name="source" label="Person, account or id of a key" width={320} hasKind />}
    >
      {source === '' ? (
        <Empty title="Choose whose access to look at">
          Open a person, a service account or a key and follow the link to the access it gave, or search for it above.
        </Empty>
      ) : (
        <DataTable
          label="Derived access"
          list={list}
          columns={COLUMNS}
          keyOf={keyOf}
          active={state['row']}
          onActive={(row) => setState({ row })}
          selection={selection}
          empty={
            <Empty title="No access derives from it">
              There is no valid key, session, invitation or membership in your reach that it created.
            </Empty>
          }
        />
      )}
      {state['revoke'] !== undefined && source !== '' && (
        <RevokeForm
          source={source}
          found={list.items}
          selected={selected}
          close={() => setState({ revoke: undefined })}
          onDone={selection.clear}
        />
      )}
    </Screen>
  );
}

/** The API revokes so many records at once. */
const MAX_SELECTED = 500;

function SourceName({ source }: { source: string }): ReactNode {
  if (source.startsWith('user:')) return <UserName id={source.slice('user:'.length)} />;
  return <PrincipalName principal={source} />;
}

function reasonNotToRevoke(items: readonly DerivedAccess[], selected: readonly DerivedAccess[]): string | null {
  if (items.length === 0) return 'There is nothing to revoke.';
  return selected.length > MAX_SELECTED ? `Select at most ${MAX_SELECTED}.` : null;
}

/** The rows that the user selected. Those that are gone are not among them. */
function useSelection(items: readonly DerivedAccess[]) {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  return useMemo(
    () => ({
      selected: keys.size === 0 ? [] : items.filter((access) => keys.has(keyOf(access))),
      selection: {
        keys,
        clear: () => setKeys(new Set()),
        toggle: (key: string) =>
          setKeys((before) =>
            before.has(key) ? new Set([...before].filter((each) => each !== key)) : new Set([...before, key]),
          ),
        toggleAll: () => setKeys((before) => (before.size >= items.length ? new Set() : new Set(items.map(keyOf)))),
      },
    }),
    [items, keys],
  );
}
