import {
  cancelOperatorTask,
  claimOperatorTask,
  completeOperatorTask,
  listOperatorTasks,
  type OperatorTask,
} from '@quartermaster/client';
import type { Client } from '@quartermaster/client/client/index.ts';
import { dataOf, readAllPages } from './calls.ts';
import type { Context } from './context.ts';

const LEASE_SECONDS = 24 * 3600;

/** Claims, completes and cancels a few of the open review tasks, and leaves the others in the queue. */
export async function completeSomeTasks({ random }: Context, client: Client, tenantId: string): Promise<void> {
  const query = { tenant_id: tenantId, kind: 'review_observation', status: 'open' } as const;
  const open = await readAllPages((page) => listOperatorTasks({ client, query: { ...query, ...page } }));
  const key = ({ title, subTenantId }: OperatorTask) => `${title} ${subTenantId}`;
  const reviews = random.shuffle(open.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)));
  const [approved, rejected, cancelled, ...claimed] = reviews.slice(0, 5);
  await complete(client, approved, 'approved');
  await complete(client, rejected, 'rejected');
  if (cancelled) {
    const body = { note: 'Asked twice.' };
    await dataOf(cancelOperatorTask({ client, path: { task_id: cancelled.id }, body }));
  }
  for (const { id } of claimed) {
    await dataOf(claimOperatorTask({ client, path: { task_id: id }, body: { leaseSeconds: LEASE_SECONDS } }));
  }
}

async function complete(client: Client, task: OperatorTask | undefined, outcome: 'approved' | 'rejected') {
  if (!task) return;
  const path = { task_id: task.id };
  await dataOf(claimOperatorTask({ client, path, body: { leaseSeconds: LEASE_SECONDS } }));
  await dataOf(completeOperatorTask({ client, path, body: { outcome, note: 'Looked at in the weekly review.' } }));
}
