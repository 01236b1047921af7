import { applyLoad } from './generator.ts';
import type { LoadPlan } from './plan.ts';

// The process of the load. It executes one plan after the other, as the parent sends them.
process.on('message', (plan: LoadPlan) => {
  applyLoad(plan).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ failure: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
