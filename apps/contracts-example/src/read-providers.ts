import { type CreateProviderInput, CreateProviderInputSchema } from '@quartermaster/contracts/providers.ts';
import { z } from 'zod';

/**
 * An example for other workspaces: reads a file of providers, and validates it with the schema of the API before anything is sent.
 *
 * @param text a JSON list of providers
 * @returns what `POST /v1/providers` takes, with defaults filled in
 * @throws Error with one line for each wrong field
 */
export function readProviders(text: string): CreateProviderInput[] {
  const { success, data, error } = z.array(CreateProviderInputSchema).safeParse(JSON.parse(text));
  if (success) return data;
  throw new Error(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
}
