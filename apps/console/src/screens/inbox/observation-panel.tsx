import type { RuntimeObservation } from '@quartermaster/client';
import { lazy, type ReactNode, Suspense } from 'react';
import { CopyId, CurlButton } from '../../components/copy.tsx';
import { formatNumber, plural } from '../../components/format.ts';
import { MeaningMark, RiskMark, Tag } from '../../components/marks.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { useMe } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';
import { providerLabel, useProviders } from '../../data/names.ts';
import { apiPath } from '../../data/curl.ts';
import { namesText } from './callers.tsx';
import { Decision } from './decision.tsx';
import { Denials } from './denials.tsx';
import { FACTOR_TITLES, meaningOf } from './meaning.ts';
import classes from './panel.module.css';

const DefinitionDiff = lazy(() => import('../../components/definition-diff.tsx'));

type Props = {
  observation: RuntimeObservation;
  /** The next observation of the list that needs a decision. */
  nextOpen: string | undefined;
  close: () => void;
};

export function ObservationPanel({ observation, nextOpen, close }: Props): ReactNode {
  const { byId } = useProviders();
  const { kind, name, providerId, risk, evidence, drift, review, lastTraceId, lastSpanId } = observation;
  const mayReadAudit = holds(useMe(), 'audit_events:read');
  const mayReadUsage = holds(useMe(), 'usage:read', observation);
  const others = evidence.names.filter((each) => each !== name);
  return (
    <SidePanel
      label={`${kind} ${name}`}
      close={close}
      heading={
        <>
          <h2>{name}</h2>
          <div className={classes.meta}>
            <MeaningMark meaning={meaningOf(observation)} />
            <Tag>{kind}</Tag>
            <span className="dim">
              at <RowLink path={`/providers/${providerId}`}>{providerLabel(byId.get(providerId), providerId)}</RowLink>
            </span>
          </div>
        </>
      }
      actions={
        <CurlButton
          request={{
            method: 'POST',
            path: apiPath`/v1/runtime-observations/${observation.id}/review`,
            body: { decision: 'approved' },
          }}
        />
      }
      footer={<Decision observation={observation} nextOpen={nextOpen} />}
    >
      <Section title="Why it matters">
        <p className={classes.risk}>
          <RiskMark level={risk.level} /> risk
        </p>
        <ul className={classes.factors}>
          {risk.factors.map(({ factor, reason }) => (
            <li key={factor}>
              <strong>{FACTOR_TITLES[factor]}.</strong> <Reason text={reason} />
            </li>
          ))}
          {risk.factors.length === 0 && <li>Nothing speaks against it.</li>}
        </ul>
      </Section>
      {drift !== null && (
        <Section title="What changed">
          <p className="dim">
            The provider changed the definition <Time at={drift.detectedAt} />.
          </p>
          <Suspense fallback={<p className="dim">Comparing</p>}>
            <DefinitionDiff before={drift.before} after={drift.after} />
          </Suspense>
        </Section>
      )}
      {review !== null && (
        <Section title={observation.status === 'open' ? 'Earlier decision' : 'Decision'}>
          <p>
            <strong>{review.decision}</strong> by <PrincipalName principal={review.reviewedBy} />{' '}
            <Time at={review.reviewedAt} />
          </p>
          {review.note !== null && <blockquote className={classes.note}>{review.note}</blockquote>}
          {mayReadAudit && (
            <RowLink path="/audit" search={{ target: observation.id }}>
              All decisions about it
            </RowLink>
          )}
        </Section>
      )}
      <Section title="Who uses it">
        <Facts
          facts={[
            [
              'Agents',
              evidence.agents.length === 0 && evidence.serviceNames.length > 0
                ? 'Telemetry names only the services.'
                : namesText(evidence.agents),
            ],
            ['Services', namesText(evidence.serviceNames)],
            ['Environments', evidence.environments.join(', ')],
            [
              'Accounts',
              evidence.accounts.length > 0 && (
                <ul>
                  {evidence.accounts.map((account) => (
                    <li key={account}>
                      <PrincipalName principal={account} />
                    </li>
                  ))}
                </ul>
              ),
            ],
            [
              'Calls',
              `${formatNumber(observation.occurrences)}, of which ${plural(evidence.errors, 'failed', 'failed')}`,
            ],
            [
              'All callers',
              observation.occurrences > 0 && mayReadUsage ? (
                <RowLink
                  path="/usage"
                  search={{ tenant: observation.tenantId, view: 'agents', kind, provider: providerId, name }}
                >
                  Agents and services, with their calls
                </RowLink>
              ) : null,
            ],
            ['First seen', <Time key="first" at={observation.firstSeenAt} />],
            ['Last seen', <Time key="last" at={observation.lastSeenAt} />],
            [
              'Latest call',
              lastTraceId !== null && (
                <RowLink path={`/traces/${lastTraceId}`} search={{ span: lastSpanId ?? undefined }}>
                  Open the trace
                </RowLink>
              ),
            ],
          ]}
        />
      </Section>
      {observation.denials > 0 && (
        <Section title="Denied by gateways">
          <Denials observation={observation} />
        </Section>
      )}
      <Section title="Evidence">
        <Facts
          facts={[
            ['Calls told by', evidence.sources.map((source) => TOLD_BY[source]).join(', ')],
            ['Addresses', evidence.serverAddresses.join(', ')],
            ['Operations', evidence.operations.join(', ')],
            ['Also written', others.join(', ')],
            ['Answered as', evidence.responseModels.join(', ')],
            ['Tenant', [observation.tenantId, observation.subTenantId].filter((part) => part !== null).join(' / ')],
            ['Id', <CopyId key="id" id={observation.id} />],
          ]}
        />
      </Section>
    </SidePanel>
  );
}

const TOLD_BY = { telemetry: 'telemetry', proxy: 'the MCP proxy' } as const;

const PRINCIPAL_OR_TIME = /(user:usr_\w+|service_account:[\w-]+\/[\w.-]+|\d{4}-\d\d-\d\dT[\d:.]+Z)/;

/** A reason of the server, with names in the place of ids and times as people read them. */
function Reason({ text }: { text: string }): ReactNode {
  return text.split(PRINCIPAL_OR_TIME).map((part, index) => {
    const key = `${index}-${part}`;
    if (/^(user|service_account):/.test(part)) return <PrincipalName key={key} principal={part} />;
    if (/^\d{4}-.*Z$/.test(part)) return <Time key={key} at={part} />;
    return part.replace(/ on $/, ' ');
  });
}
