import { z } from 'zod';
import { EmailSchema, IdentifierSchema, LookupIdSchema, TimestampSchema, tenancyFields, timeFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { RoleSchema } from './scopes.ts';

export const MembershipStatusSchema = z.enum(['pending', 'active']).meta({
  id: 'MembershipStatus',
  description:
    '`pending`: the user has not accepted it. Until then it grants nothing, and the tenant sees nothing of the user.',
});

export const MembershipSchema = z
  .strictObject({
    userId: z.string(),
    ...tenancyFields,
    email: z.string().describe('As it was invited.'),
    role: RoleSchema,
    status: MembershipStatusSchema,
    acceptedAt: TimestampSchema.nullable(),
    ...timeFields,
  })
  .meta({ id: 'Membership', description: 'What a user is in a tenant, or in one of its sub-tenants.' });
export type Membership = z.infer<typeof MembershipSchema>;

export const CreateMembershipInputSchema = z
  .strictObject({
    email: EmailSchema.describe("Anybody's: the answer does not tell whether it is registered."),
    role: RoleSchema.describe("At most the caller's own reach."),
    subTenantId: IdentifierSchema.nullish().describe(
      'Only in this sub-tenant. Left out: in the whole tenant, or in the one sub-tenant that the caller is bound to.',
    ),
  })
  .meta({ id: 'CreateMembershipInput' });
export type CreateMembershipInput = z.infer<typeof CreateMembershipInputSchema>;

export const UpdateMembershipInputSchema = z
  .strictObject({ role: RoleSchema.optional() })
  .meta({ id: 'UpdateMembershipInput', description: 'Left out keeps, a value sets.' });
export type UpdateMembershipInput = z.infer<typeof UpdateMembershipInputSchema>;

const membershipRecord = { untagged: [] };

const tag = 'Tenants';
const tenant = { tenant_id: LookupIdSchema.describe("The tenant's id.") };
const member = { ...tenant, user_id: LookupIdSchema.describe("The user's id.") };
const whichSubTenant = z.string().max(128).nullish();
const which = {
  sub_tenant_id: whichSubTenant.meta({
    description:
      'The membership in this sub-tenant. Left out or empty: the one in the whole tenant, or in the one sub-tenant that the caller is bound to.',
    param: { id: 'MembershipSubTenant' },
  }),
};

export const createMembership = operation({
  method: 'POST',
  path: '/v1/tenants/{tenant_id}/memberships',
  operationId: 'create_membership',
  scope: 'memberships:write',
  tag,
  summary: 'Invite a member',
  description:
    'The membership is pending until its user accepts it, registered or not: who is not yet signs in first, with the email that was invited.',
  params: tenant,
  body: CreateMembershipInputSchema,
  record: membershipRecord,
  output: MembershipSchema,
  errors: ['tenant_not_found', 'membership_exists', 'grant_exceeds_own'],
});

export const listMemberships = operation({
  method: 'GET',
  path: '/v1/tenants/{tenant_id}/memberships',
  operationId: 'list_memberships',
  scope: 'memberships:read',
  tag,
  summary: 'List the members of a tenant',
  description:
    'Lists the members of a tenant and of its sub-tenants, newest first. Invitations that were not accepted yet are listed as `pending`.',
  params: tenant,
  query: {
    sub_tenant_id: z.string().max(128).nullish().describe('Only memberships in this sub-tenant.'),
    role: RoleSchema.nullish().describe('Only memberships with this role.'),
    status: MembershipStatusSchema.nullish().describe('Only memberships with this status.'),
    ...pageFields,
  },
  output: page('MembershipPage', MembershipSchema),
  errors: ['tenant_not_found'],
});

export const updateMembership = operation({
  method: 'PUT',
  path: '/v1/tenants/{tenant_id}/memberships/{user_id}',
  operationId: 'update_membership',
  scope: 'memberships:write',
  tag,
  summary: "Change a member's role",
  description:
    'Gives the member another role. The caller cannot give a role that exceeds their own (403), and a tenant keeps at least one owner (409).',
  params: member,
  query: which,
  body: UpdateMembershipInputSchema,
  record: membershipRecord,
  ifMatch: membershipRecord,
  output: MembershipSchema,
  errors: ['tenant_not_found', 'membership_not_found', 'grant_exceeds_own', 'last_owner'],
});

export const deleteMembership = operation({
  method: 'DELETE',
  path: '/v1/tenants/{tenant_id}/memberships/{user_id}',
  operationId: 'delete_membership',
  scope: 'memberships:write',
  ownId: 'user_id',
  tag,
  summary: 'Remove a member',
  description: 'Users leave, and decline what is pending, by themselves without any scope.',
  params: member,
  query: which,
  record: membershipRecord,
  ifMatch: membershipRecord,
  output: MembershipSchema,
  errors: ['tenant_not_found', 'membership_not_found', 'grant_exceeds_own', 'last_owner'],
});

export const acceptMembership = operation({
  method: 'POST',
  path: '/v1/me/memberships/{tenant_id}/accept',
  operationId: 'accept_membership',
  scope: null,
  tag,
  summary: 'Accept your own membership',
  description:
    "For users, with a bearer token. Your own record lists what is pending. Once you accept, you hold the role, and the tenant's administrators see you, and may disable or delete you while they reach all memberships that you accepted. DELETE of your own membership declines.",
  params: tenant,
  query: {
    sub_tenant_id: whichSubTenant.describe(
      'The membership in this sub-tenant. Left out or empty: the one in the whole tenant, or else your only one in the tenant.',
    ),
  },
  record: membershipRecord,
  ifMatch: membershipRecord,
  output: MembershipSchema,
  errors: ['user_required', 'membership_not_found', 'membership_accepted'],
});
