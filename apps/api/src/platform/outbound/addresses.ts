import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address or a network in CIDR form. */
export type Network = string;

/** Global unicast (RFC 4291, section 2.4). IPv6 addresses outside of it belong to no public host. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Public addresses of cloud services that only the cloud's machines reach: Azure's host (`168.63.129.16`), which hands out a
 * machine's configuration. Those of other clouds are in special ranges: link-local, shared or unique local.
 */
const CLOUD_HOSTS: readonly Network[] = ['168.63.129.16'];

/**
 * Whether the service may connect to an address: that of a public host, or one in the networks that the operator allows. An
 * IPv4-mapped IPv6 address (`::ffff:127.0.0.1`) is checked as IPv4. Other forms that contain IPv4 (NAT64, 6to4, Teredo) are in
 * special ranges, so they pass only if the operator allows those.
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
