import * as contract from '@quartermaster/contracts/onboarding.ts';
import { publicEndpoint, router } from '../trpc.ts';
import { registerUser } from './service.ts';

export const onboardingRouter = router({
  register: publicEndpoint(contract.registerUser).mutation(async ({ ctx, input }) => {
    await ctx.services.registrations.consume(ctx.address);
    return registerUser(ctx, input.body);
  }),
});
