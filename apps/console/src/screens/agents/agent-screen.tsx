import {
  type AgentDetail,
  type AgentRisk,
  type AgentUse,
  type ChannelOfAgent,
  declareAgentChannel,
} from '@quartermaster/client';
import { getAgentOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { CostText, unpricedText } from '../../components/cost.tsx';
import { Views } from '../../components/filters.tsx';
import { formatCompact, formatNumber, plural } from '../../components/format.ts';
import { MeaningMark, RiskMark, Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { RangeFilter } from '../../components/range-filter.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty, Failed, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import type { PagedList } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';
import { HOUR_MS, USAGE_PERIODS, useTimeRange } from '../../data/time-range.ts';
import { useUrlState } from '../../data/url-state.ts';
import { apiPath } from '../../data/curl.ts';
import classes from './agents.module.css';
import { FACTOR_TITLES } from '../inbox/meaning.ts';
import { UsageCharts } from '../usage/usage-charts.tsx';

const keyOf = ({ providerId, kind, name }: AgentUse) => `${providerId}/${kind}/${name}`;

const COLUMNS: Column<AgentUse>[] = [
  { key: 'state', header: 'Meaning', width: '100px', cell: ({ state }) => <MeaningMark meaning={state} /> },
  {
    key: 'name',
    header: 'Uses',
    width: 'minmax(120px, 2fr)',
    cell: ({ name, kind, observationId }) => (
      <span className="row">
        {observationId === null ? (
          <strong className="truncate">{name}</strong>
        ) : (
          <Link
            className="truncate"
            to="/inbox"
            search={(before) => ({ tenant: before['tenant'], view: 'all', item: observationId })}
          >
            <strong>{name}</strong>
          </Link>
        )}
        <Tag>{kind}</Tag>
      </span>
    ),
  },
  {
    key: 'provider',
    header: 'At provider',
    width: 'minmax(100px, 1fr)',
    cell: ({ providerId, providerName }) => (
      <Link to="/providers/$providerId" params={{ providerId }}>
        {providerName ?? providerId}
      </Link>
    ),
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
    width: '96px',
    cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
  },
  { key: 'calls', header: 'Calls', width: '64px', isNumber: true, cell: ({ calls }) => formatNumber(calls) },
  {
    key: 'errors',
    header: 'Errors',
    width: '64px',
    isNumber: true,
    cell: ({ errors }) => <span className={errors > 0 ? 'danger' : 'dim'}>{formatNumber(errors)}</span>,
  },
  {
    key: 'tokens',
    header: 'Tokens',
    width: '72px',
    isNumber: true,
    cell: ({ inputTokens, outputTokens }) => formatCompact(inputTokens + outputTokens),
  },
  { key: 'cost', header: 'Cost', width: '84px', isNumber: true, cell: ({ cost }) => <CostText cost={cost} /> },
];

export function AgentScreen(): ReactNode {
  const { agentId } = useParams({ from: '/agents/$agentId' });
  const range = useTimeRange(HOUR_MS);
  const { data: agent, error, refetch } = useQuery(getAgentOptions({ path: { agent_id: agentId }, query: range }));
  if (agent === undefined) {
    return (
      <Screen title="Agent" above={<Link to="/agents">Agents</Link>}>
        {error === null ? <Loading /> : <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      </Screen>
    );
  }
  return <Loaded agent={agent} />;
}

function Loaded({ agent }: { agent: AgentDetail }): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const { view = 'all' } = state;
  const { name, declared, usage, uses, omittedUses, declares } = agent;
  const filter = {
    tenant_id: agent.tenantId,
    ...(agent.subTenantId !== null && { sub_tenant_id: agent.subTenantId }),
    agent: name,
  };
  const list = useMemo(() => listOf(uses.filter(({ state: each }) => view === 'all' || each === view)), [uses, view]);
  const countOf = (meaning: AgentUse['state']) => uses.filter(({ state: each }) => each === meaning).length;
  const unused = declares.filter((each) => !uses.some((use) => use.kind === each.kind && use.name === each.name));
  return (
    <Screen
      title={name}
      above={<Link to="/agents">Agents</Link>}
      heading={
        <>
          {name}
          <MeaningMark meaning={declared ? 'declared' : 'unknown'} />
          {agent.risk !== null && <RiskMark level={agent.risk.level} />}
        </>
      }
      summary={<Summary agent={agent} />}
      request={{ method: 'GET', path: apiPath`/v1/agents/${agent.id}` }}
      toolbar={
        <>
          <Views
            label="What it uses"
            views={[
              { value: 'all', label: 'Everything it uses', count: uses.length },
              { value: 'unknown', label: 'Unknown', count: countOf('unknown') },
              { value: 'blocked', label: 'Blocked', count: countOf('blocked') },
              { value: 'declared', label: 'Declared', count: countOf('declared') },
            ]}
          />
          <span className="grow" />
          <span className="dim num">
            {plural(usage.calls, 'call')}, {plural(usage.errors, 'error')}, {formatCompact(usage.inputTokens)} tokens
            in, {formatCompact(usage.outputTokens)} out
            {usage.cost !== null && (
              <>
                , <CostText cost={usage.cost} /> by list prices
                {unpricedText(usage.cost.unpricedCalls)}
              </>
            )}
          </span>
          <RangeFilter label="Last 30 days" periods={USAGE_PERIODS} step={HOUR_MS} />
        </>
      }
    >
      <UsageCharts of={name} filter={filter}>
        <DataTable
          label="What it uses"
          list={list}
          columns={COLUMNS}
          keyOf={keyOf}
          active={state['row']}
          onActive={(row) => setState({ row })}
          onOpen={({ observationId }) => {
            if (observationId === null) return;
            void navigate({ to: '/inbox', search: { tenant: state['tenant'], view: 'all', item: observationId } });
          }}
          empty={<Empty title="It used nothing of this kind">Choose a longer period, or another view.</Empty>}
          footer={[
            `${formatNumber(list.items.length)} shown`,
            ...(omittedUses > 0 ? [`${formatNumber(omittedUses)} with fewer calls left out`] : []),
            ...(unused.length > 0 ? [`declared and not used: ${unused.map((each) => each.name).join(', ')}`] : []),
          ].join(' · ')}
        />
      </UsageCharts>
    </Screen>
  );
}

function Summary({ agent }: { agent: AgentDetail }): ReactNode {
  const { name, accounts, manifestId, risk } = agent;
  return (
    <div className={classes.facts}>
      {placeOf(agent)}
      {risk !== null && risk.causes.length > 0 && <RiskCauses agent={agent} risk={risk} />}
      <span>
        acts as{' '}
        {accounts.map((account, index) => (
          <span key={account}>
            {index > 0 && ', '}
            <PrincipalName principal={account} />
          </span>
        ))}
        {accounts.length === 0 && 'no account yet'}
      </span>
      <span>
        first seen <Time at={agent.firstSeenAt} />
      </span>
      <span>
        last seen <Time at={agent.lastSeenAt} />
      </span>
      <Link to="/traces" search={(before) => ({ tenant: before['tenant'], agent: name })}>
        Its traces
      </Link>
      {manifestId === null ? (
        <Link to="/manifests" search={(before) => ({ tenant: before['tenant'], new: '1', name })}>
          Write its manifest
        </Link>
      ) : (
        <Link to="/manifests/$manifestId" params={{ manifestId }}>
          Its manifest
        </Link>
      )}
      {agent.observations[0] !== undefined && (
        <Link
          to="/inbox"
          search={(before) => ({ tenant: before['tenant'], view: 'all', item: agent.observations[0]?.id })}
        >
          Its observation
        </Link>
      )}
      <Channels agent={agent} />
    </div>
  );
}

const CHANNEL_STATES = {
  declared_and_seen: { meaning: 'declared', text: 'declared and seen' },
  declared_and_silent: { meaning: 'declared', text: 'declared and silent' },
  seen_and_undeclared: { meaning: 'unknown', text: 'seen and undeclared' },
} as const satisfies Record<ChannelOfAgent['state'], object>;

/** Where people talk to the agent. */
function Channels({ agent }: { agent: AgentDetail }): ReactNode {
  const { channels } = agent;
  return (
    <section className={classes.channels} aria-labelledby="channels">
      <h2 className="qm-subtitle" id="channels">
        Channels
      </h2>
      {channels.length === 0 && <span className="dim">not reported</span>}
      {channels.map(({ channel, state, lastSeenAt }) => (
        <span key={channel} className="row">
          <strong>{channel}</strong>
          <MeaningMark meaning={CHANNEL_STATES[state].meaning}>{CHANNEL_STATES[state].text}</MeaningMark>
          {lastSeenAt !== null && <Time at={lastSeenAt} />}
          {state === 'seen_and_undeclared' && <DeclareChannel agent={agent} channel={channel} />}
        </span>
      ))}
    </section>
  );
}

/** Adds a channel to the manifest of the agent, after a question. */
function DeclareChannel({ agent, channel }: { agent: AgentDetail; channel: string }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const close = () => setAsking(false);
  const declare = useAction({
    run: async () => {
      const path = { agent_id: agent.id, channel };
      return (await declareAgentChannel({ path, headers: idempotencyKey(), throwOnError: true })).data;
    },
    done: ({ name, version }) => `Version ${version} of the manifest ${name} declares ${channel}.`,
    onDone: close,
  });
  return (
    <>
      <ActionButton
        scope="manifests:write"
        place={agent}
        size="compact-xs"
        variant="default"
        disabledReason={agent.declared ? null : 'The agent has no manifest yet. Write one first.'}
        onClick={() => setAsking(true)}
      >
        Declare
      </ActionButton>
      {isAsking && (
        <ConfirmDialog
          title={`Declare the channel ${channel}?`}
          consequence={
            <p>
              The manifest of {agent.name} gets a new version with {channel} as one channel more. Gateways that use the
              manifest use the new version. What the agent may use stays the same.
            </p>
          }
          confirm="Declare it"
          isPending={declare.isPending}
          onConfirm={() => declare.mutate()}
          close={close}
        />
      )}
    </>
  );
}

/** Why the risk is as high as it is: the observations, each with its strongest factor first. */
function RiskCauses({ agent, risk }: { agent: AgentDetail; risk: AgentRisk }): ReactNode {
  return (
    <p>
      {risk.level} risk:{' '}
      {risk.causes.map(({ observationId, name, factors }, index) => (
        <span key={observationId}>
          {index > 0 && ', '}
          <Link
            to="/inbox"
            search={(before) => ({ tenant: before['tenant'], view: 'all', item: observationId })}
            title={factors.map(({ reason }) => reason).join(' ')}
          >
            {name === agent.name ? 'the agent itself' : name}
          </Link>{' '}
          <span className="dim">({FACTOR_TITLES[factors[0]?.factor ?? 'unknown_item'].toLowerCase()})</span>
        </span>
      ))}
    </p>
  );
}

/** A list that is there as a whole, in the form of one that is read page by page. */
function listOf<Item>(items: Item[]): PagedList<Item> {
  const nothing = () => {};
  return {
    items,
    isLoading: false,
    problem: null,
    hasMore: false,
    isFormer: false,
    isLoadingMore: false,
    loadMore: nothing,
    reload: nothing,
  };
}
