import type { Provider } from '@quartermaster/contracts/providers.ts';
import { isRouter, splitRouters } from '@quartermaster/naming/model-name.ts';
import { isSendersOwnHost } from '@quartermaster/naming/provider-names.ts';
import { canonicalVendor, vendorOfHost } from '@quartermaster/naming/vendors.ts';
import { isHost } from '../reading/server-address.ts';
import { type BatchLookup, discoveredNames, UNNAMED_SERVICE } from './batch-lookup.ts';
import type { Discovery } from './discovery.ts';
import type { Match, MatchableSpan } from './match.ts';
import { likelyVendor, vendorOfModel } from './vendor-of-model.ts';

export type ModelRuleContext = { lookup: BatchLookup; discovery: Discovery };
type Rule = (context: ModelRuleContext, call: ModelCall) => Provider | undefined;

/** Finds the provider of a model: the first rule that finds one decides. The model behind a router is the model, wherever it is. */
export function matchModel(context: ModelRuleContext, span: MatchableSpan, written: string): Match {
  const call = readCall(span, written);
  for (const rule of RULES) {
    const provider = rule(context, call);
    if (provider) return { provider, name: call.model };
  }
  return { provider: discoveredOwner(context, call), name: call.model };
}

const RULES: readonly Rule[] = [
  providerAtAddress,
  providerNamedByAddress,
  declaredRouter,
  vendorInModelName,
  soleProviderOfModel,
  blockingVendorInModelName,
  vendorOfSpan,
];

/** A call of a model, as its span describes it. */
type ModelCall = {
  /** Without the routers in front of it. */
  model: string;
  routers: readonly string[];
  address: string | null;
  port: number | null;
  /** The vendor whose API is at the address. */
  apiVendor: string | null;
  /** Whether routers are named, and neither the address nor the span's vendor says where the call went. */
  isRouted: boolean;
  /** The vendor that sells the model, as far as the router or the span names it. */
  vendor: string | null;
  /** The same as the span has it. It may be a router. */
  namedVendor: string | null;
  /** Whether the address is a host that is neither a known vendor's API nor the sender's own machine. */
  isElsewhere: boolean;
  serviceName: string | null;
};

function readCall({ facts, serviceName }: MatchableSpan, written: string): ModelCall {
  const { vendor: namedVendor, serverAddress: address, serverPort: port } = facts;
  const { routers, model } = splitRouters(
    namedVendor !== null && isRouter(namedVendor) ? `${namedVendor}/${written}` : written,
  );
  const apiVendor = address === null ? null : vendorOfHost(address);
  const ofSpan = namedVendor !== null && routers.includes(namedVendor) ? null : namedVendor;
  const isLibrary = ofSpan === null || LIBRARY_VENDORS.prefix.has(ofSpan);
  const isRouted = routers.length > 0 && apiVendor === null && isLibrary;
  const seller = isRouted ? routers.map(canonicalVendor).find((one) => one !== null) : undefined;
  const isElsewhere = address !== null && apiVendor === null && isHost(address) && !isSendersOwnHost(address);
  const vendor = seller ?? ofSpan;
  return { model, routers, address, port, apiVendor, isRouted, vendor, namedVendor, isElsewhere, serviceName };
}

function providerAtAddress({ lookup }: ModelRuleContext, { address, port, model }: ModelCall) {
  const atAddress = address === null ? [] : lookup.providers.findAtHost(address, port);
  return preferred(lookup, atAddress, model);
}

/** Some senders write the name of a provider as `server.address`. */
function providerNamedByAddress({ lookup }: ModelRuleContext, { address }: ModelCall) {
  return address !== null && !isHost(address) ? lookup.providers.findByName(address) : undefined;
}

function declaredRouter({ lookup }: ModelRuleContext, { isRouted, routers, model }: ModelCall) {
  if (!isRouted) return undefined;
  return preferred(
    lookup,
    routers.flatMap((router) => declaredOf(lookup, router)),
    model,
  );
}

/**
 * The provider of the vendor that the model's name names, if it has the model. Clients of a router write the router's form of
 * the name, and the vendor of their own library or none.
 */
function vendorInModelName({ lookup }: ModelRuleContext, { apiVendor, vendor, model }: ModelCall) {
  if (apiVendor !== null) return undefined;
  const named = vendorOfModel(model);
  if (named === null || (vendor !== null && !LIBRARY_VENDORS[named.by].has(vendor))) return undefined;
  const { providers } = lookup;
  const owners = providers.findOfVendor(named.vendor).filter((one) => hasModel(lookup, one, model));
  const isOfLibrary =
    named.by === 'prefix' &&
    vendor !== null &&
    providers.findOfVendor(vendor).some((one) => hasModel(lookup, one, model));
  return isOfLibrary ? undefined : preferred(lookup, owners, model);
}

/**
 * The one declared provider that has the model. A client library names its own vendor, whatever endpoint it is configured with, so
 * behind a router it may hide the provider.
 */
function soleProviderOfModel({ lookup }: ModelRuleContext, call: ModelCall) {
  const { vendor, isRouted, address, model } = call;
  const isOfLibrary =
    isRouted &&
    vendor !== null &&
    LIBRARY_VENDORS.prefix.has(vendor) &&
    !providersOfVendors(lookup, call).some((one) => hasModel(lookup, one, model));
  const isHidden = vendor === null || isOfLibrary;
  return isHidden && (isRouted || address === null) ? lookup.soleProviderOfModel(model) : undefined;
}

/** The provider that the model's name names, if it blocks the model. An undeclared router does not hide a block. */
function blockingVendorInModelName({ lookup }: ModelRuleContext, call: ModelCall) {
  if (!ownProviders(lookup, call).every(isDiscovered)) return undefined;
  const named = vendorOfModel(call.model);
  if (named === null) return undefined;
  return declaredOf(lookup, named.vendor).find((one) => isBlockedAt(lookup, one, call.model));
}

function vendorOfSpan({ lookup }: ModelRuleContext, call: ModelCall) {
  const providers = ownProviders(lookup, call);
  return call.isElsewhere && providers.every(isDiscovered) ? undefined : preferred(lookup, providers, call.model);
}

/** A discovered provider. A router that the span names has one name, whatever its address. */
function discoveredOwner({ lookup, discovery }: ModelRuleContext, call: ModelCall): Provider {
  const { vendor, apiVendor, namedVendor, isElsewhere, address, model, serviceName } = call;
  const known = vendor ?? apiVendor ?? namedVendor;
  const likely = known === null && !isElsewhere ? likelyVendor(model) : null;
  const names = distinct([known ?? likely, address ?? (known === null ? (serviceName ?? UNNAMED_SERVICE) : null)]);
  const holders = names.flatMap(discoveredNames).flatMap((name) => lookup.providers.findByName(name) ?? []);
  return holders.find((one) => isBlockedAt(lookup, one, model)) ?? discovery.discover(names, 'llm', vendor);
}

function providersOfVendors({ providers }: BatchLookup, { vendor, apiVendor }: ModelCall): Provider[] {
  return distinct([vendor, apiVendor]).flatMap((one) => providers.findOfVendor(one));
}

/** The providers of the call's vendors. At an unknown address a vendor's provider is used only if its inventory has the model. */
function ownProviders(lookup: BatchLookup, call: ModelCall): Provider[] {
  const ofVendors = providersOfVendors(lookup, call);
  return call.isElsewhere ? ofVendors.filter((one) => hasModel(lookup, one, call.model)) : ofVendors;
}

function declaredOf({ providers }: BatchLookup, vendor: string): Provider[] {
  return providers.findOfVendor(vendor).filter((one) => !isDiscovered(one));
}

function isDiscovered({ status }: Provider): boolean {
  return status === 'discovered';
}

function hasModel(lookup: BatchLookup, provider: Provider, model: string): boolean {
  return lookup.modelAt(provider, model) !== undefined;
}

function isBlockedAt(lookup: BatchLookup, provider: Provider, model: string): boolean {
  return lookup.modelAt(provider, model)?.status === 'blocked';
}

/** Of equally good matches, the provider that blocks the model, otherwise one that has it, otherwise the first. */
function preferred(lookup: BatchLookup, candidates: readonly Provider[], model: string): Provider | undefined {
  return (
    candidates.find((one) => isBlockedAt(lookup, one, model)) ??
    candidates.find((one) => hasModel(lookup, one, model)) ??
    candidates[0]
  );
}

/**
 * Vendors that a client library writes although another vendor's API is called. OpenAI's library is used for every router. The
 * libraries of the makers of models also call Bedrock and Vertex AI. A router that names itself is the provider that is called.
 */
const LIBRARY_VENDORS = {
  prefix: new Set(['openai']),
  notation: new Set([
    'openai',
    'ai21',
    'anthropic',
    'cohere',
    'deepseek',
    'gcp.gemini',
    'gcp.gen_ai',
    'meta',
    'mistral_ai',
  ]),
} as const;

function distinct(texts: readonly (string | null)[]): string[] {
  return [...new Set(texts.filter((text) => text !== null))];
}
