import { listManifests, type Manifest } from '@quartermaster/client';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { SelectFilter } from '../../components/filters.tsx';
import { StateMark, Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ConnectLink } from '../connect/connect-link.tsx';
import { ManifestForm } from './manifest-form.tsx';

const keyOf = ({ id }: Manifest) => id;

const COLUMNS: Column<Manifest>[] = [
  {
    key: 'name',
    header: 'Manifest',
    width: 'minmax(200px, 2fr)',
    cell: ({ id, name, kind }) => (
      <span className="row">
        <Link to="/manifests/$manifestId" params={{ manifestId: id }} className="truncate">
          <strong>{name}</strong>
        </Link>
        <Tag>{kind}</Tag>
      </span>
    ),
  },
  { key: 'version', header: 'Version', width: '70px', isNumber: true, cell: ({ version }) => version },
  {
    key: 'status',
    header: 'Status',
    width: '90px',
    cell: ({ status }) => <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />,
  },
  {
    key: 'declares',
    header: 'Declares',
    width: '80px',
    isNumber: true,
    cell: ({ spec }) => spec.declares?.length ?? 0,
  },
  { key: 'place', header: 'Tenant', width: 'minmax(130px, 1fr)', cell: placeOf },
  {
    key: 'by',
    isWideOnly: true,
    header: 'Written by',
    width: 'minmax(140px, 1fr)',
    cell: ({ createdBy }) => <PrincipalName principal={createdBy} />,
  },
  { key: 'when', header: 'Written', width: '96px', cell: ({ createdAt }) => <Time at={createdAt} /> },
];

export function ManifestsScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const filter = useTenantFilter();
  const { kind, status = 'active' } = state;
  const query = {
    ...filter,
    ...(kind !== undefined && { kind: kind as Manifest['kind'] }),
    status: status as Manifest['status'],
  };
  const list = usePagedList({
    key: ['manifests', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listManifests({ query: page, signal, throwOnError: true })).data;
    },
  });
  return (
    <Screen
      title="Manifests"
      summary="Documents that declare what an agent, gateway or channel uses. A new version replaces the former one."
      request={{ method: 'GET', path: '/v1/manifests', query }}
      actions={
        <ActionButton scope="manifests:write" onClick={() => setState({ new: '1' })}>
          Write a manifest
        </ActionButton>
      }
      toolbar={
        <>
          <SelectFilter name="kind" label="Kind" choices={['agent', 'gateway', 'channel']} />
          <SelectFilter name="status" label="Active" choices={['superseded', 'deleted']} />
        </>
      }
    >
      <DataTable
        label="Manifests"
        list={list}
        columns={COLUMNS}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        onOpen={({ id }) => void navigate({ to: '/manifests/$manifestId', params: { manifestId: id } })}
        empty={
          <Empty title="No manifest">
            Write one for an agent, so that what it uses counts as declared. No agent yet? <ConnectLink />.
          </Empty>
        }
      />
      {state['new'] !== undefined && (
        <ManifestForm name={state['name'] ?? ''} close={() => setState({ new: undefined, name: undefined })} />
      )}
    </Screen>
  );
}
