import {
  deleteInventoryItem,
  getProviderInventory,
  type InventoryItem,
  type Provider,
  updateInventoryItem,
} from '@quartermaster/client';
import { getInventoryItemOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { lazy, type ReactNode, Suspense } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import type { Column } from '../../components/data-table.tsx';
import { MeaningMark, StateMark, Tag } from '../../components/marks.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { SplitList } from '../../components/split-list.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatch } from '../../data/client.ts';
import { useShownRecord } from '../../data/linked-record.ts';
import { useMe } from '../../data/me.ts';
import { holdsWithin } from '../../data/rights.ts';
import { usePagedList } from '../../data/pages.ts';
import { useUrlState } from '../../data/url-state.ts';
import { CANNOT_SYNC } from './cannot-sync.ts';
import { ItemForm } from './item-form.tsx';
import classes from './provider.module.css';

const DefinitionDiff = lazy(() => import('../../components/definition-diff.tsx'));

const COLUMNS: Column<InventoryItem>[] = [
  { key: 'status', header: 'Status', width: '120px', cell: ({ status }) => <ItemStatus status={status} /> },
  {
    key: 'name',
    header: 'Item',
    width: 'minmax(280px, 3fr)',
    cell: ({ name, title, kind, drift, renamedFrom }) => (
      <span className="row">
        <strong className="truncate">{name}</strong>
        <Tag>{kind}</Tag>
        {drift !== null && <Tag>definition changed</Tag>}
        {renamedFrom !== null && <span className="dim truncate">renamed from {renamedFrom}</span>}
        {title !== null && title !== name && <span className="dim truncate">{title}</span>}
      </span>
    ),
  },
  {
    key: 'source',
    isWideOnly: true,
    header: 'Declared by',
    width: '130px',
    cell: ({ source }) => <span className="dim">{source}</span>,
  },
  {
    key: 'first',
    isWideOnly: true,
    header: 'First seen',
    width: '110px',
    cell: ({ firstSeenAt }) => <Time at={firstSeenAt} />,
  },
  {
    key: 'last',
    isWideOnly: true,
    header: 'Last seen',
    width: '110px',
    cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
  },
];

function ItemStatus({ status }: Pick<InventoryItem, 'status'>): ReactNode {
  if (status === 'blocked') return <MeaningMark meaning="blocked" />;
  if (status === 'available') return <MeaningMark meaning="declared">available</MeaningMark>;
  return <StateMark state={status} />;
}

export function InventoryTab({ provider }: { provider: Provider }): ReactNode {
  const [state, setState] = useUrlState();
  const declare = () => setState({ new: '1' });
  const list = usePagedList({
    key: ['inventory', provider.id],
    read: async (cursor, signal) => {
      const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
      const path = { provider_id: provider.id };
      return (await getProviderInventory({ path, query, signal, throwOnError: true })).data;
    },
  });
  const id = state['item'];
  const { shown, problem } = useShownRecord(
    list,
    id,
    getInventoryItemOptions({ path: { provider_id: provider.id, item_id: id ?? '' } }),
  );
  return (
    <>
      <SplitList
        label="Inventory"
        list={list}
        columns={COLUMNS}
        empty={
          <Empty title="Nothing is declared here">
            <div className="stack">
              <p>
                {provider.baseUrl === null
                  ? `${CANNOT_SYNC} Declare an item by hand.`
                  : 'Sync to ask the provider what it offers, or declare an item by hand.'}
              </p>
              <div>
                <ActionButton scope="providers:write" place={provider} onClick={declare}>
                  Declare an item
                </ActionButton>
              </div>
            </div>
          </Empty>
        }
        footer={
          <span className="row">
            <span className="grow">
              {list.items.length} {list.hasMore ? 'loaded, more below' : 'in all'}
            </span>
            <ActionButton
              scope="providers:write"
              place={provider}
              size="compact-xs"
              variant="default"
              onClick={declare}
            >
              Declare an item
            </ActionButton>
          </span>
        }
        shown={shown}
        problem={problem}
        panelLabel="Item"
        renderPanel={(item, close) => <ItemPanel key={item.id} item={item} close={close} />}
      />
      {state['new'] !== undefined && (
        <ItemForm
          provider={provider}
          given={state}
          close={() => setState({ new: undefined, kind: undefined, name: undefined, status: undefined })}
        />
      )}
    </>
  );
}

/** What a person compares: not the times and ids around it. */
function definitionOf({ title, description, attributes }: Pick<InventoryItem, 'title' | 'description' | 'attributes'>) {
  return { title, description, attributes };
}

type ItemStatusChange = 'available' | 'blocked' | 'retired';

function ItemPanel({ item, close }: { item: InventoryItem; close: () => void }): ReactNode {
  const { id, name, kind, status, providerId, title, description, drift, attributes, schemaDigest } = item;
  const mayReadAudit = holdsWithin(useMe(), 'audit_events:read', item.tenantId);
  const options = () => ({
    path: { provider_id: providerId, item_id: id },
    headers: { ...idempotencyKey(), ...ifMatch(`/v1/providers/${providerId}/inventory/${id}`) },
    throwOnError: true as const,
  });
  const change = useAction({
    run: (next: ItemStatusChange) => updateInventoryItem({ ...options(), body: { status: next } }),
    done: (_, next) => (next === 'available' ? `${name} is available.` : null),
    onDone: (_, next) => {
      if (next === 'available') return;
      showToast({
        text: `${name} is ${next}.`,
        ...(status === 'available' && { action: { label: 'Undo', run: () => change.mutate('available') } }),
      });
    },
  });
  const remove = useAction({
    run: () => deleteInventoryItem(options()),
    done: () => `${name} was deleted.`,
    onDone: close,
  });
  return (
    <SidePanel
      label={`${kind} ${name}`}
      close={close}
      heading={
        <>
          <h2>{name}</h2>
          <div className="row">
            <ItemStatus status={status} /> <Tag>{kind}</Tag>
          </div>
        </>
      }
      footer={
        <div className="row wraps">
          {status !== 'blocked' && (
            <ActionButton scope="providers:write" place={item} isDanger onClick={() => change.mutate('blocked')}>
              Block
            </ActionButton>
          )}
          {status !== 'retired' && (
            <ActionButton scope="providers:write" place={item} isDanger onClick={() => change.mutate('retired')}>
              Retire
            </ActionButton>
          )}
          <DangerButton
            scope="providers:write"
            place={item}
            title={`Delete ${name}?`}
            consequence="It is no longer declared, and a block of it ends. If agents use it afterwards, it is unknown. A sync that finds it asks about it again, unless the provider allows new items. To forbid it, block it instead."
            confirm="Delete the item"
            action={remove}
          >
            Delete
          </DangerButton>
          {status !== 'available' && (
            <ActionButton
              scope="providers:write"
              place={item}
              variant="default"
              onClick={() => change.mutate('available')}
            >
              Make available
            </ActionButton>
          )}
          <span className="dim">A block ends the sessions that grant it.</span>
        </div>
      }
    >
      {status === 'pending' && (
        <p className="dim">A sync found it after the first one. No session grants it until you decide in the inbox.</p>
      )}
      {drift !== null && (
        <Section title="The provider changed it">
          <p className="dim">
            Found <Time at={drift.detectedAt} />. Decide about it in the inbox.
          </p>
          <Suspense fallback={null}>
            <DefinitionDiff before={definitionOf(item)} after={definitionOf(drift)} />
          </Suspense>
        </Section>
      )}
      <Section title="Definition">
        <Facts
          facts={[
            ['Title', title],
            ['Description', description],
            ['Digest', schemaDigest === null ? null : <CopyId key="digest" id={schemaDigest} />],
            ['Source', item.source],
            ['Renamed from', item.renamedFrom],
            ['Id', <CopyId key="id" id={id} />],
            [
              'History',
              mayReadAudit && (
                <RowLink key="history" path="/audit" search={{ target: id }}>
                  Who declared, blocked or changed it
                </RowLink>
              ),
            ],
          ]}
        />
      </Section>
      {Object.keys(attributes).length > 0 && (
        <Section title="Attributes">
          <pre className={classes.json}>{JSON.stringify(attributes, null, 2)}</pre>
        </Section>
      )}
    </SidePanel>
  );
}
