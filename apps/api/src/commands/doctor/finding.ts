/** What one check found, as the doctor prints it. */
export type Finding = {
  /** What was checked. */
  check: string;
  /** `skipped`: it could not be checked, for instance because an earlier check failed. */
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was found. Never contains a secret. */
  found: string;
  /** What to do about it. Null if nothing has to be done. */
  fix: string | null;
};

export const ok = (check: string, found: string): Finding => ({ check, status: 'ok', found, fix: null });

export const warning = (check: string, found: string, fix: string): Finding => ({
  check,
  status: 'warning',
  found,
  fix,
});

export const failed = (check: string, found: string, fix: string): Finding => ({ check, status: 'failed', found, fix });

export const skipped = (check: string, found: string): Finding => ({ check, status: 'skipped', found, fix: null });
