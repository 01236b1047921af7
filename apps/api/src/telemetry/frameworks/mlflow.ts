import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import type { Attributes, AttributeValue } from '../otlp/span.ts';
import { withPublicUrls } from '../urls.ts';
import { asText } from '../reading/as-text.ts';
import { isModelName } from '../reading/endings.ts';
import type { Facts } from '../reading/facts.ts';
import { readInside } from '../reading/inside.ts';
import { isModelCall, withoutQuotes } from '../reading/operations.ts';

const TYPE = 'mlflow.spanType';
const REQUEST = 'mlflow.spanInputs';
const ANSWER = 'mlflow.spanOutputs';
const CLIENT = 'mlflow.message.format';

export const MLFLOW_NAMES: readonly string[] = [TYPE, REQUEST, ANSWER, CLIENT];

/**
 * Reads the model of a call from its request and its answer, as MLflow writes them (github.com/mlflow/mlflow). MLflow's wrappers of
 * clients for TypeScript (libs/typescript/integrations) write it nowhere else. They also name the client. Many vendors are called with
 * the client of OpenAI, so that one tells no vendor.
 */
export function readModelOfMlflow(attributes: Attributes, facts: Facts): void {
  if (attributes[TYPE] === undefined || !isModelCall(facts.operation)) return;
  const answered = modelIn(attributes[ANSWER], 'model') ?? modelIn(attributes[ANSWER], 'modelVersion');
  facts.model ??= modelIn(attributes[REQUEST], 'model') ?? answered;
  facts.responseModel ??= answered;
  const client = withoutQuotes(asText(attributes[CLIENT] ?? ''));
  if (facts.model !== null && client !== 'openai') facts.vendor ??= canonicalVendor(client);
}

function modelIn(attribute: AttributeValue | undefined, key: string): string | null {
  const text = readInside(attribute, [key]);
  return typeof text === 'string' && isModelName(text) ? withPublicUrls(text) : null;
}
