import type { Provider } from '@quartermaster/contracts/providers.ts';
import { nameKey, plainName } from '@quartermaster/naming/name-key.ts';

/** A provider with its new name, and its former name. */
export type Renamed = { provider: Provider; formerName: string };

/** The names of models before their provider was renamed, with their names and keys under its new name. Only those that change. */
export function renamedModels<Model extends { name: string; nameKey: string }>(
  models: readonly Model[],
  { provider, formerName }: Renamed,
): Model[] {
  return models.flatMap((model) => {
    const key = nameKey('model', model.nameKey, provider.name);
    // The former provider name in front of a model name means nothing under the new name.
    const plain = plainName('model', model.name, formerName);
    const name = nameKey('model', plain, provider.name) === key ? plain : model.nameKey;
    return key !== model.nameKey || name !== model.name ? [{ ...model, name, nameKey: key }] : [];
  });
}
