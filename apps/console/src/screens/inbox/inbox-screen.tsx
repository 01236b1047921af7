import type { RuntimeObservation } from '@quartermaster/client';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { SelectFilter, TextFilter, Views } from '../../components/filters.tsx';
import { RISK_RANK } from '../../components/marks.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Screen } from '../../components/screen.tsx';
import { useSortedColumns } from '../../components/sorted-columns.ts';
import { SplitList } from '../../components/split-list.tsx';
import { Empty } from '../../components/states.tsx';
import { providerLabel, useProviders } from '../../data/names.ts';
import { type PagedList, useDistinct } from '../../data/pages.ts';
import { type UrlState, useUrlState } from '../../data/url-state.ts';
import { BulkBar } from './bulk-bar.tsx';
import { observationColumns } from './columns.tsx';
import { FirstSteps, NothingToDecide } from './first-steps.tsx';
import { Groups } from './groups.tsx';
import { InboxCsv } from './inbox-csv.tsx';
import { ObservationPanel } from './observation-panel.tsx';
import { OverviewStrip } from './overview-strip.tsx';
import { useInboxCounts, useLinkedObservation, useObservations, usePrefetchedRecommendations } from './queries.ts';
import { ANY_STATUS, inboxQuery, type ObservationQuery, viewOf } from './query.ts';
import classes from './inbox.module.css';
import { useSteadyRows } from './use-steady-rows.ts';

const KINDS = ['model', 'tool', 'agent', 'prompt', 'resource', 'channel'];
const RISKS = [
  { value: 'high', label: 'High risk' },
  { value: 'medium', label: 'Medium or high' },
];
const STATUSES = ['open', 'approved', 'rejected', 'ignored', 'resolved'];

const GROUPINGS = [
  { value: 'provider', label: 'By provider' },
  { value: 'agent', label: 'By agent' },
];

const SUMMARIES: Record<string, string> = {
  new: 'What agents use, without a decision yet.',
  seen_again: 'What a person rejected, and agents used again after that.',
  changed_definition: 'What a provider has changed since it was accepted.',
  blocked: 'What the inventory blocks, but agents still use.',
  denied: 'What gateways denied to agents, or would have denied if they enforced it.',
  all: 'What agents use, and who decided about it.',
};

/** How many are read so that the whole can be sorted by risk. */
const MAX_SORTED = 2000;

/** After the first page. A user who goes on typing a filter replaces the list before that, and reading the rest costs most. */
const SORT_DELAY_MS = 500;

/** The orders of the API by column. */
const ORDERS = {
  risk: 'risk',
  what: 'name',
  status: 'status',
  decided: 'reviewed_at',
  provider: 'provider',
  first: 'first_seen_at',
  last: 'last_seen_at',
  calls: 'calls',
};
const ASCENDING = new Set(['what', 'provider']);

const keyOf = ({ id }: RuntimeObservation) => id;

export { prefetchInbox } from './queries.ts';

/** The environments of the listed observations and the one that is filtered by, separated by spaces. */
function environmentsOf(items: readonly RuntimeObservation[], filtered: string | undefined): string {
  const names = new Set(items.flatMap(({ evidence }) => evidence.environments));
  if (filtered !== undefined) names.add(filtered);
  return [...names].toSorted().join(' ');
}

export function InboxScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const { item, name } = state;
  const view = viewOf(state);
  const query = inboxQuery(state);
  const list = useSortedObservations(query, { view, open: item, enabled: state['group'] === undefined });
  useOnlyOne(list, name, setState);
  const providers = useProviders();
  const isNarrow = item !== undefined;
  const unsorted = useMemo(
    () => observationColumns({ providers: providers.byId, view, isNarrow }),
    [providers.byId, view, isNarrow],
  );
  const columns = useSortedColumns(unsorted, ORDERS, ASCENDING);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const index = useMemo(() => list.items.findIndex(({ id }) => id === item), [list.items, item]);
  const listed = list.items[index];
  usePrefetchedRecommendations(listed && list.items[index + 1]?.id);
  const { linked, problem } = useLinkedObservation(item, listed !== undefined || list.isLoading || list.isFormer);
  const shown = listed ?? linked;
  const nextOpen = useMemo(() => nextOpenOf(list.items, index), [list.items, index]);
  const counts = useInboxCounts(state);
  const toggle = useCallback((key: string) => setSelected((before) => toggled(before, key)), []);
  const selection = useMemo(
    () => ({
      keys: selected,
      toggle,
      toggleAll: () =>
        setSelected((before) => (before.size >= list.items.length ? new Set() : new Set(list.items.map(keyOf)))),
      clear: () => setSelected(new Set()),
    }),
    [selected, toggle, list.items],
  );
  const openCount = useMemo(() => list.items.filter(({ status }) => status === 'open').length, [list.items]);
  // The bulk review has no filter for one name.
  const isWhole = !ANY_STATUS.has(view) && !list.hasMore && !list.isFormer && name === undefined;
  const matching = isWhole ? { filter: query, count: openCount } : null;
  const choose = (rows: readonly RuntimeObservation[]) => setSelected(new Set(rows.map(keyOf)));
  const chosen = selected.size === 0 ? [] : list.items.filter(({ id }) => selected.has(id));
  const providerChoices = useMemo(
    () => providers.list.map((each) => ({ value: each.id, label: providerLabel(each, each.id) })),
    [providers.list],
  );
  const { environment, agent, group } = state;
  const environments = useMemo(() => environmentsOf(list.items, environment), [list.items, environment]);
  const environmentChoices = useMemo(() => (environments === '' ? [] : environments.split(' ')), [environments]);
  const nameChoices = useMemo(() => (name === undefined ? [] : [{ value: name, label: name }]), [name]);
  const agentChoices = useMemo(() => (agent === undefined ? [] : [{ value: agent, label: agent }]), [agent]);
  // The same elements each time, so that moving from row to row does not draw the filters again.
  const toolbar = useMemo(
    () => (
      <>
        <Views
          label="View"
          initial={viewOf({ name })}
          views={[
            { value: 'new', label: 'New', count: counts?.new },
            { value: 'seen_again', label: 'Seen again after rejection', count: counts?.seenAgain },
            { value: 'changed_definition', label: 'Changed definition', count: counts?.changedDefinition },
            { value: 'blocked', label: 'Blocked, and used' },
            { value: 'denied', label: 'Denied' },
            { value: 'all', label: 'All' },
          ]}
        />
        <span className="grow" />
        <div className="row wraps">
          <TextFilter name="q" label="Search names" width={150} />
          <SelectFilter name="provider" label="Provider" width={140} choices={providerChoices} />
          <SelectFilter name="kind" label="Kind" choices={KINDS} width={100} />
          {environmentChoices.length > 0 && (
            <SelectFilter name="environment" label="Environment" choices={environmentChoices} width={130} />
          )}
          <SelectFilter name="risk" label="Any risk" choices={RISKS} width={110} />
          {nameChoices.length > 0 && <SelectFilter name="name" label="Name" choices={nameChoices} width={160} />}
          {agentChoices.length > 0 && <SelectFilter name="agent" label="Agent" choices={agentChoices} width={130} />}
          <SelectFilter name="group" label="Not grouped" choices={GROUPINGS} width={125} />
          {view === 'all' && <SelectFilter name="status" label="Status" choices={STATUSES} width={120} />}
        </div>
      </>
    ),
    [counts, providerChoices, view, environmentChoices, name, nameChoices, agentChoices],
  );

  const isFilteredBy = (filters: readonly string[]) => filters.some((each) => state[each] !== undefined);
  const otherFilters = ['q', 'name', 'environment', 'risk', ...(view === 'all' ? ['status'] : [])];
  const nothing = (
    <Nothing
      view={view}
      named={name === undefined ? null : [state['kind'], name].filter((part) => part !== undefined).join(' ')}
      hasFilter={isFilteredBy(['provider', 'agent', 'kind', ...otherFilters])}
    />
  );
  if (group === 'provider' || group === 'agent') {
    return (
      <Screen
        title="Inbox"
        summary={SUMMARIES[view] ?? SUMMARIES['new']}
        request={{ method: 'GET', path: '/v1/runtime-observations/groups', query: { ...query, by: group } }}
        actions={<InboxCsv query={query} />}
        toolbar={toolbar}
      >
        <Groups by={group} query={query} empty={nothing} />
      </Screen>
    );
  }
  return (
    <Screen
      title="Inbox"
      summary={SUMMARIES[view] ?? SUMMARIES['new']}
      request={{ method: 'GET', path: '/v1/runtime-observations', query }}
      actions={<InboxCsv query={query} />}
      toolbar={toolbar}
    >
      <div className={classes.frame}>
        <SplitList
          above={
            <OverviewStrip
              provider={state['provider']}
              kind={state['kind'] as RuntimeObservation['kind'] | undefined}
              agent={agent}
              hasOtherFilter={isFilteredBy(otherFilters)}
              newObservations={view === 'new' && list.problem === null ? list.items : null}
              hasMore={list.hasMore}
            />
          }
          label="Observations"
          list={list}
          columns={columns}
          selection={selection}
          empty={nothing}
          shown={shown}
          problem={problem}
          panelLabel="Observation"
          renderPanel={(observation, close) => (
            <ObservationPanel observation={observation} nextOpen={nextOpen} close={close} />
          )}
        />
        {chosen.length > 0 && <BulkBar observations={chosen} all={matching} choose={choose} clear={selection.clear} />}
      </div>
    </Screen>
  );
}

/** Opens the observation that the link of a denial names, if it is one. Once for each name, so that it can be closed. */
function useOnlyOne(
  { items, isLoading, isFormer, hasMore }: PagedList<RuntimeObservation>,
  name: string | undefined,
  setState: (changes: UrlState) => void,
): void {
  const opened = useRef<string | undefined>(undefined);
  const [first] = items;
  const only = name !== undefined && !isLoading && !isFormer && !hasMore && items.length === 1 ? first?.id : undefined;
  useEffect(() => {
    if (name === undefined) opened.current = undefined;
    if (only === undefined || opened.current === name) return;
    opened.current = name;
    setState({ item: only });
  }, [name, only, setState]);
}

/** High risk first, then by provider, then what was seen last. */
function useSortedObservations(
  query: ObservationQuery,
  { view, open, enabled }: { view: string; open: string | undefined; enabled: boolean },
): PagedList<RuntimeObservation> {
  const list = useObservations(query, enabled);
  const { hasMore, loadMore, isLoadingMore } = list;
  const items = useDistinct(list.items, keyOf);
  // The order of a column comes from the API.
  const isSorted = view !== 'all' && query.sort === undefined;
  useEffect(() => {
    if (!isSorted || !hasMore || isLoadingMore || items.length >= MAX_SORTED) return;
    const timer = setTimeout(loadMore, SORT_DELAY_MS);
    return () => clearTimeout(timer);
  }, [isSorted, hasMore, isLoadingMore, items.length, loadMore]);
  const sorted = useMemo(() => (isSorted ? items.toSorted(byRisk) : items), [items, isSorted]);
  const steady = useSteadyRows(sorted, { view: JSON.stringify(query), isFormer: list.isFormer, open });
  return { ...list, items: steady };
}

function byRisk(a: RuntimeObservation, b: RuntimeObservation): number {
  return (
    RISK_RANK[b.risk.level] - RISK_RANK[a.risk.level] ||
    a.providerId.localeCompare(b.providerId) ||
    b.lastSeenAt.localeCompare(a.lastSeenAt)
  );
}

/** The first open observation behind a row of the list, or else before it. */
function nextOpenOf(items: readonly RuntimeObservation[], index: number): string | undefined {
  const isOpen = ({ status }: RuntimeObservation) => status === 'open';
  return (items.slice(index + 1).find(isOpen) ?? items.slice(0, Math.max(0, index)).find(isOpen))?.id;
}

function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(keys);
  if (!next.delete(key)) next.add(key);
  return next;
}

type NothingProps = { view: string; named: string | null; hasFilter: boolean };

function Nothing({ view, named, hasFilter }: NothingProps): ReactNode {
  if (named !== null && view === 'all') {
    return (
      <Empty title={`${named} was not observed yet`}>
        It is listed within a few seconds after an agent asks for it or uses it. If it stays away, the account may have
        been denied too many names: Tasks says so. Clear the name to see everything else.
      </Empty>
    );
  }
  if (hasFilter) return <Empty title="Nothing matches these filters">Clear a filter to see more.</Empty>;
  if (view === 'seen_again') return <Empty title="Nothing that was rejected is still used">Good.</Empty>;
  if (view === 'changed_definition')
    return <Empty title="No definition has changed">Syncs compare what each provider offers.</Empty>;
  if (view === 'blocked') return <Empty title="Nothing that is blocked is used">Good.</Empty>;
  if (view === 'denied')
    return (
      <Empty title="Nothing was denied">
        What <RowLink path="/gateways">gateways</RowLink> deny appears here.{' '}
        <RowLink path="/coverage">Coverage</RowLink> says whose calls they check.
      </Empty>
    );
  if (view === 'all') return <FirstSteps />;
  return <NothingToDecide />;
}
