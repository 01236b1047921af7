import { type ComboboxItem, type OptionsFilter, Select } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { Views } from '../../components/filters.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Screen } from '../../components/screen.tsx';
import { BASE_PATH } from '../../data/base-path.ts';
import { useUrlState } from '../../data/url-state.ts';
import { AccountStep, type NewKey } from './account-step.tsx';
import classes from './connect.module.css';
import { ANY, environmentOf, FRAMEWORKS, isAccountId, partsOf, protocolOf, sortByMatch } from './frameworks.ts';
import { Listening } from './listening.tsx';
import { SampleDataOffer } from './sample-data.tsx';

const CHOICES = [
  { value: ANY, label: 'Any OpenTelemetry exporter' },
  ...FRAMEWORKS.map(({ id, name, version }) => ({
    value: id,
    label: version === null ? name : `${name} (${version})`,
  })),
];

const filterFrameworks: OptionsFilter = ({ options, search }) =>
  sortByMatch(options as ComboboxItem[], search, ({ label }) => label);

const PROTOCOLS = [
  { value: 'http', label: 'HTTP' },
  { value: 'grpc', label: 'gRPC' },
];

/**
 * The way by a gateway, then three steps from nothing to the first span. The address has what was chosen, so that the page can be
 * left and opened again, but never the key: its text is shown once, as everywhere.
 */
export function ConnectScreen(): ReactNode {
  const [{ framework, account, of, key }, setState] = useUrlState();
  const [made, setMade] = useState<NewKey | null>(null);
  const secret = made !== null && made.id === key ? made.secret : null;
  return (
    <Screen
      title="Connect an agent"
      summary="Through a gateway, an agent gets another address. With telemetry, it gets settings, and with some frameworks a few lines of code."
      scrolls
    >
      <section className={classes.gateway} aria-labelledby="by-gateway">
        <h2 id="by-gateway">MCP servers: by gateway, without instrumentation</h2>
        <p>
          A gateway with its MCP proxy on decides about each call and passes it on. The agent gets another address and a
          token, and what is denied appears in the inbox.
        </p>
        <ol className={classes.numbered}>
          <li>
            <RowLink path="/providers" search={{ new: '1' }}>
              Declare the MCP server
            </RowLink>{' '}
            with its address, and press Sync now.
          </li>
          <li>
            <RowLink path="/gateways" search={{ new: '1' }}>
              Create a gateway
            </RowLink>{' '}
            that lists it, or open one of the <RowLink path="/gateways">gateways</RowLink>.
          </li>
          <li>Choose Connect there. It makes a key, and has the lines for Claude Code, Cursor, VS Code and others.</li>
        </ol>
      </section>
      <h2 className={classes.telemetry}>Models and tools of any kind: by telemetry</h2>
      <ol className={classes.steps}>
        <li>
          <h2>1. What sends</h2>
          <Select
            label="Framework or coding agent"
            description="Type a part of its name."
            placeholder="Any OpenTelemetry exporter"
            searchable
            limit={200}
            nothingFoundMessage="It is not in the list: choose any OpenTelemetry exporter"
            maw={560}
            data={CHOICES}
            filter={filterFrameworks}
            value={framework ?? null}
            onChange={(chosen) => setState({ framework: chosen ?? undefined })}
          />
        </li>
        <li>
          <h2>2. Account and key</h2>
          <AccountStep
            created={(next) => {
              setMade(next);
              setState({ account: next.accountId, of: next.tenantId, key: next.id, with: 'existing' });
            }}
          />
        </li>
        <li>
          <h2>3. Settings</h2>
          {account === undefined || !isAccountId(account) || of === undefined ? (
            <p className="dim">The lines appear here with address and key once there is an account.</p>
          ) : (
            <>
              <Settings account={account} secret={secret} />
              <h3>What arrives</h3>
              <Listening account={account} tenantId={of} keyId={key} />
            </>
          )}
        </li>
      </ol>
      <div className={classes.offer}>
        <SampleDataOffer />
      </div>
    </Screen>
  );
}

function Settings({ account, secret }: { account: string; secret: string | null }): ReactNode {
  const [{ framework, protocol: chosen }] = useUrlState();
  const known = FRAMEWORKS.find(({ id }) => id === framework);
  const protocol = protocolOf(known, chosen === 'grpc' ? 'grpc' : 'http');
  const filling = { address: window.location.origin + BASE_PATH, key: secret, service: account, protocol };
  return (
    <div className="stack">
      {secret === null ? (
        <p>
          Put the key of the account in the place of <code>&lt;key&gt;</code>. Its text was shown once. If it is lost,
          make another one above.
        </p>
      ) : (
        <p>The key is shown this once: copy the lines before you leave this page.</p>
      )}
      <div className="row wraps">
        <Views name="protocol" label="Protocol" views={PROTOCOLS} />
        <span className="dim">
          {protocol === 'grpc' && 'Port 4317, unless the operator changed QM_OTLP_GRPC_PORT.'}
          {protocol === 'http' &&
            (chosen === 'grpc'
              ? `What ${known?.name} needs sends HTTP, so these lines are for HTTP.`
              : 'Works with every SDK. Python sends gRPC unless the second line says otherwise.')}
        </span>
      </div>
      <p>Set these variables where the agent starts: its shell, container or service file.</p>
      <CopyBlock label="Environment variables" text={environmentOf(filling)} />
      {known !== undefined && (
        <>
          <p>{known.name} also needs this:</p>
          {partsOf(known, filling).map(({ kind, text }) =>
            kind === 'code' ? (
              <CopyBlock key={text} label={`Set-up of ${known.name}`} text={text} />
            ) : (
              <p key={text} className={classes.text}>
                {text.replaceAll('`', '')}
              </p>
            ),
          )}
        </>
      )}
    </div>
  );
}
