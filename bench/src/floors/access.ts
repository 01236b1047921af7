import { hash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type SqliteDatabase from 'better-sqlite3';

/** The caller that the key belongs to. */
export type Caller = { accountId: string; tenantId: string };

const KEY = /^qm_(key_[0-9a-z]{26})_[0-9A-Za-z]{49}$/;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const FIND_KEY = `
  select "credential"."id", "credential"."digest", "credential"."scopes", "credential"."expires_at",
    "credential"."revoked_at", "credential"."last_used_at", "account"."id" as "account_id", "account"."tenant_id",
    "account"."sub_tenant_id", "account"."status", "account"."platform_administrator"
  from "credentials" as "credential"
  inner join "service_accounts" as "account"
    on "account"."tenant_id" = "credential"."tenant_id" and "account"."id" = "credential"."owner_id"
  where "credential"."id" = ? and "credential"."kind" = ?`;

type KeyRow = {
  digest: string;
  scopes: string;
  expires_at: string | null;
  revoked_at: string | null;
  account_id: string;
  tenant_id: string;
  status: string;
};

/** The look-up of an API key: parsed, found by its id, its SHA-256 compared in constant time. */
export function keyLookup(db: SqliteDatabase.Database, scope: string): (key: string) => Caller | null {
  const find = db.prepare<[string, string], KeyRow>(FIND_KEY);
  return (key) => {
    const id = KEY.exec(key)?.[1];
    if (id === undefined || checksumOf(key.slice(0, -CHECKSUM_LENGTH)) !== key.slice(-CHECKSUM_LENGTH)) return null;
    const row = find.get(id, 'api_key');
    if (!row || !timingSafeEqual(Buffer.from(row.digest, 'hex'), hash('sha256', key, 'buffer'))) return null;
    if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= new Date().toISOString())) return null;
    const scopes = JSON.parse(row.scopes) as string[];
    if (row.status !== 'active' || !(scopes.includes(scope) || scopes.includes('*'))) return null;
    return { accountId: row.account_id, tenantId: row.tenant_id };
  };
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let at = 0; at < CHECKSUM_LENGTH; at += 1) {
    digits = ALPHABET.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
