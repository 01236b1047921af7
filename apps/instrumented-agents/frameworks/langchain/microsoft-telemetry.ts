/** Loaded before the program, because packages are instrumented when they are loaded. */
import '@microsoft/opentelemetry/loader';
import { useMicrosoftOpenTelemetry } from '@microsoft/opentelemetry';

useMicrosoftOpenTelemetry({
  // Otherwise only some spans are sent once there are more than five traces a second.
  tracesPerSecond: 0,
  samplingRatio: 1,
  enableSensitiveData: true,
  instrumentationOptions: { http: { enabled: false } },
});
