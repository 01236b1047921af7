import type { ReactNode } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { Empty } from '../../components/states.tsx';

/** What an empty installation shows: how to send the first span. */
export function FirstSteps(): ReactNode {
  const address = window.location.origin;
  return (
    <Empty title="No agent has been seen yet">
      <div className="stack">
        <p>
          Create a service account and a key with the scope <code>traces:write</code> under Accounts and keys. Then
          point the OpenTelemetry exporter of an agent here:
        </p>
        <CopyBlock
          text={`export OTEL_EXPORTER_OTLP_ENDPOINT=${address}\nexport OTEL_EXPORTER_OTLP_HEADERS=x-api-key=$KEY`}
        />
        <p>What it calls appears here within seconds. To see made-up data instead:</p>
        <CopyBlock text="npm run seed" />
      </div>
    </Empty>
  );
}
