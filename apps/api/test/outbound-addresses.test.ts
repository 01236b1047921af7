import { isIP } from 'node:net';
import { expect, test } from 'vitest';
import { isAllowedAddress } from '../src/platform/outbound/addresses.ts';

const PUBLIC = [
  '93.184.215.14',
  '168.63.129.15',
  '168.63.129.17',
  '1.1.1.1',
  '8.8.8.8',
  '172.15.0.1',
  '172.32.0.1',
  '2606:4700:4700::1111',
  '2a00::1',
];

const REFUSED = [
  // Unspecified, loopback, private, link-local, shared and reserved addresses (RFC 6890).
  '0.0.0.0',
  '0.1.2.3',
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.5',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.127.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  // The same for IPv6.
  '::',
  '::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '2001:db8::1',
  '3fff::1',
  '100::1',
  '5f00::1',
  // Metadata services of clouds. Azure's address is not in a special range.
  '168.63.129.16',
  '::ffff:168.63.129.16',
  '100.100.100.200',
  'fd00:ec2::254',
  'fd20:ce::254',
  '169.254.170.2',
  // IPv4 within IPv6: mapped, compatible, NAT64 (also local), 6to4, Teredo.
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  '::127.0.0.1',
  '::7f00:1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::7f00:1',
  '2002:7f00:1::',
  '2002:a00:5::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  // Texts that are not addresses.
  '',
  'localhost',
  '127.1',
  '0x7f000001',
  '017700000001',
  '2130706433',
  'fe80',
  '1.2.3.4.5',
];

test.each(PUBLIC)('the public address %s is allowed', (address) => {
  expect(isAllowedAddress(address, [])).toBe(true);
});

test.each(REFUSED)('%j is refused', (address) => {
  expect(isAllowedAddress(address, [])).toBe(false);
});

test('only the networks that the configuration allows are allowed', () => {
  const allowed = ['127.0.0.0/8', '::1', '10.1.2.3', 'fd00::/8', '168.63.129.16'];
  for (const address of [
    '168.63.129.16',
    '127.0.0.1',
    '::ffff:127.0.0.1',
    '::1',
    '0:0:0:0:0:0:0:1',
    '10.1.2.3',
    'fd00::5',
  ]) {
    expect(isAllowedAddress(address, allowed), address).toBe(true);
  }
  for (const address of ['10.1.2.4', '::2', 'fc00::1', '192.168.0.1', '64:ff9b::7f00:1', '2002:7f00:1::']) {
    expect(isAllowedAddress(address, allowed), address).toBe(false);
  }
});

/** Notations of addresses that URL parsing normalizes. The normalized address is checked. */
const SPELLINGS: [string, string][] = [
  ['http://0x7f.1/', '127.0.0.1'],
  ['http://0177.0.0.1/', '127.0.0.1'],
  ['http://2130706433/', '127.0.0.1'],
  ['http://0/', '0.0.0.0'],
  ['http://127.1/', '127.0.0.1'],
  ['http://%31%32%37.0.0.1/', '127.0.0.1'],
  ['http://①②⑦.0.0.1/', '127.0.0.1'],
  ['http://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
  ['http://[0:0::0:1]/', '::1'],
];

test.each(SPELLINGS)('%s is checked as %s', (url, address) => {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  expect(host).toBe(address);
  expect(isIP(host)).not.toBe(0);
  expect(isAllowedAddress(host, [])).toBe(false);
});
