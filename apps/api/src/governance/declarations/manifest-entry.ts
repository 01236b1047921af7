import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { AllowListSchema, MANIFEST_SPECS, ManifestSpecInputSchema } from '@quartermaster/contracts/manifest-specs.ts';
import type { Manifest, ManifestSpec } from '@quartermaster/contracts/manifests.ts';

/** A manifest with one entry more. */
type Widened = { entry: Record<string, unknown>; spec: ManifestSpec };

/**
 * Adds one item to what a manifest allows: to `declares` of an agent, and to `allow` of a gateway or channel. The entry names the provider by
 * its id, because another provider may have the same name.
 *
 * @returns null if the manifest has no room for it, or has no exact entry for such a name
 */
export function withItemAllowed(
  { kind: manifestKind, spec }: Pick<Manifest, 'kind' | 'spec'>,
  { providerId, kind, name }: { providerId: string; kind: InventoryKind; name: string },
): Widened | null {
  if (manifestKind === 'agent') {
    const entry = { provider: providerId, kind, name };
    return widened(manifestKind, { ...spec, declares: [...(spec.declares ?? []), entry] }, entry);
  }
  const allow = AllowListSchema.safeParse(spec['allow']);
  // A name that ends with `*` would be a prefix.
  if (!allow.success || name.includes('*')) return null;
  const entry = { provider: providerId, kind, names: [name] };
  return widened(manifestKind, { ...spec, allow: [...allow.data, entry] }, entry);
}

function widened(kind: Manifest['kind'], spec: ManifestSpec, entry: Record<string, unknown>): Widened | null {
  const isValid = ManifestSpecInputSchema.safeParse(spec).success && MANIFEST_SPECS[kind].safeParse(spec).success;
  return isValid ? { entry, spec } : null;
}
