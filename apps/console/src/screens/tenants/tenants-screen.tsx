import { createTenant, listTenants, type Tenant } from '@quartermaster/client';
import { TextInput } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Tag } from '../../components/marks.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { usePagedList } from '../../data/pages.ts';
import { fieldErrorsOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';

const keyOf = ({ id }: Tenant) => id;

const COLUMNS: Column<Tenant>[] = [
  {
    key: 'name',
    header: 'Tenant',
    width: 'minmax(240px, 2fr)',
    cell: ({ id, displayName }) => (
      <span className="row">
        <Link to="/tenants/$tenantId" params={{ tenantId: id }} className="truncate">
          <strong>{displayName ?? id}</strong>
        </Link>
        {displayName !== null && <code className="dim truncate">{id}</code>}
      </span>
    ),
  },
  {
    key: 'parts',
    header: 'Sub-tenants',
    width: 'minmax(200px, 2fr)',
    cell: ({ subTenantIds }) => <span title={subTenantIds.join(', ')}>{subTenantIds.join(', ')}</span>,
  },
  {
    key: 'content',
    header: 'Content',
    width: '130px',
    cell: ({ settings }) => (settings.captureContent ? <Tag>captured</Tag> : <span className="dim">not captured</span>),
  },
  {
    key: 'retention',
    header: 'Spans kept',
    width: '110px',
    isNumber: true,
    cell: ({ settings }) => (settings.spanRetentionDays === null ? 'forever' : `${settings.spanRetentionDays} days`),
  },
  {
    key: 'created',
    isWideOnly: true,
    header: 'Created',
    width: '120px',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

export function TenantsScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const list = usePagedList({
    key: ['tenants'],
    read: async (cursor, signal) => {
      const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listTenants({ query, signal, throwOnError: true })).data;
    },
  });
  return (
    <Screen
      title="Tenants and members"
      summary="Everything belongs to one tenant. Sub-tenants are parts of it, such as teams."
      request={{ method: 'GET', path: '/v1/tenants' }}
      actions={
        <ActionButton scope="tenants:write" onClick={() => setState({ new: '1' })}>
          Create a tenant
        </ActionButton>
      }
    >
      <DataTable
        label="Tenants"
        list={list}
        columns={COLUMNS}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        onOpen={({ id }) => void navigate({ to: '/tenants/$tenantId', params: { tenantId: id } })}
        empty={
          <Empty title="No tenant in your reach">Create a tenant, or ask an administrator of one to invite you.</Empty>
        }
      />
      {state['new'] !== undefined && <TenantForm close={() => setState({ new: undefined })} />}
    </Screen>
  );
}

const LABELS = { displayName: 'Name', id: 'Id' };

function TenantForm({ close }: { close: () => void }): ReactNode {
  const navigate = useNavigate();
  const [id, setId] = useState('');
  const [displayName, setDisplayName] = useState('');
  const headersOf = useFormHeaders();
  const save = useAction({
    run: async () => {
      const body = { displayName, ...(id !== '' && { id }) };
      return (await createTenant({ body, headers: headersOf(body), throwOnError: true })).data;
    },
    inForm: true,
    done: () => `${displayName} was created.`,
    onDone: (tenant) => {
      close();
      void navigate({ to: '/tenants/$tenantId', params: { tenantId: tenant.id } });
    },
  });
  const errors = fieldErrorsOf(save.error);
  return (
    <FormDialog
      title="Create a tenant"
      submit="Create"
      close={close}
      save={save}
      labels={LABELS}
      incomplete={displayName === ''}
    >
      <TextInput
        label="Name"
        required
        data-autofocus
        error={errors['displayName']}
        value={displayName}
        onChange={(event) => setDisplayName(event.currentTarget.value)}
      />
      <TextInput
        label="Id"
        description="It stands in addresses and never changes. Leave it empty for one that is made for you."
        error={errors['id']}
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
