import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address or a network in CIDR form. */
export type Network = string;

/** Global unicast (RFC 4291, section 2.4): whatever IPv6 has outside of it is of no public host. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Addresses of a cloud's own services that only its machines reach, and that no special range has: Azure's host
 * (`168.63.129.16`), which hands out a machine's configuration. Those of others are link-local, shared or unique local.
 */
const CLOUD_HOSTS: readonly Network[] = ['168.63.129.16'];

/**
 * Whether an address may be connected to: one of a public host, or of the networks that the operator allows. IPv4 inside
 * IPv6 (`::ffff:127.0.0.1`) is looked at as the IPv4 that it is; other ways of wrapping it (NAT64, 6to4, Teredo) pass
 * where the wrapped form itself is allowed, since where they lead is decided elsewhere.
 */
export function isAllowedAddress(address: string, allowed: readonly Network[]): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.process(address);
  if (allowed.some((network) => isIn(parsed, network))) return true;
  if (parsed.range() !== 'unicast' || CLOUD_HOSTS.some((host) => isIn(parsed, host))) return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST);
}

/** Whether a text is an address or a network. */
export function isNetwork(text: string): boolean {
  return isIP(text) !== 0 || ipaddr.isValidCIDR(text);
}

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, network: Network): boolean {
  const [base, bits] = network.includes('/')
    ? ipaddr.parseCIDR(network)
    : ([ipaddr.parse(network), null] satisfies [unknown, null]);
  if (base.kind() !== address.kind()) return false;
  return bits === null ? base.toNormalizedString() === address.toNormalizedString() : address.match(base, bits);
}
