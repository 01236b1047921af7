/** LangChain under OpenLIT. */
import * as callbackManager from '@langchain/core/callbacks/manager';
import { Openlit } from 'openlit';
import { telemetryUrl } from '../../recorder/program.ts';
import { runAgent } from './agent.ts';

Openlit.init({
  applicationName: 'weather-service',
  otlpEndpoint: telemetryUrl,
  otlpHeaders: { 'x-api-key': 'recorded' },
  disableBatch: true,
  // Else it is fetched from the network.
  pricingJson: {},
  instrumentations: { langchain: callbackManager },
});
await runAgent();
// Its own exit would not wait for the spans.
await new Promise((resolve) => setTimeout(resolve, 1000));
