import { z } from 'zod';
import { EmailSchema, IdentifierSchema, LookupIdSchema, TimestampSchema, tenancyFields, timeFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { RoleSchema } from './scopes.ts';

/** For how many days an invitation can be accepted. */
export const INVITATION_DAYS = 14;

export const MembershipStatusSchema = z.enum(['pending', 'active', 'suspended']).meta({
  id: 'MembershipStatus',
  description:
    '`pending`: the user has not accepted the membership yet. Until then it grants nothing, and the administrators of the tenant cannot see the user. `active`: the user has accepted it. `suspended`: it grants nothing until the suspension ends. `suspendedBy` says who may end it.',
});

/** Who suspended a membership. */
export const SuspendedBySchema = z.enum(['platform', 'tenant']).nullable().meta({
  id: 'SuspendedBy',
  description:
    '`platform`: a platform administrator suspended the membership. Only platform administrators may end the suspension, or remove the membership. `tenant`: an administrator of the tenant suspended it. Null if it is not suspended.',
});

export const MembershipSchema = z
  .strictObject({
    userId: z.string(),
    ...tenancyFields,
    email: z.string().describe('The email that was invited.'),
    role: RoleSchema,
    status: MembershipStatusSchema,
    suspendedBy: SuspendedBySchema,
    acceptedAt: TimestampSchema.nullable(),
    expiresAt: TimestampSchema.nullable().describe(
      `Until when a pending membership can be accepted: ${INVITATION_DAYS} days, or less if the API key that created the invitation ends earlier. Null after it was accepted.`,
    ),
    ...timeFields,
  })
  .meta({ id: 'Membership', description: 'The role of a user in a tenant or in one of its sub-tenants.' });
export type Membership = z.infer<typeof MembershipSchema>;

export const CreateMembershipInputSchema = z
  .strictObject({
    email: EmailSchema.describe('The email to invite. The answer does not reveal whether it is registered.'),
    role: RoleSchema.describe('The role to give. It may include no scope that the caller does not hold there (403).'),
    subTenantId: IdentifierSchema.nullish().describe(
      'The sub-tenant of the membership. If it is left out, the membership is for the whole tenant, or for the sub-tenant that the caller is limited to.',
    ),
  })
  .meta({ id: 'CreateMembershipInput', examples: [{ email: 'ada@acme.example', role: 'viewer' }] });
export type CreateMembershipInput = z.infer<typeof CreateMembershipInputSchema>;

export const UpdateMembershipInputSchema = z
  .strictObject({
    role: RoleSchema.optional(),
    status: z
      .enum(['active', 'suspended'])
      .optional()
      .describe(
        '`suspended`: the membership grants nothing until it is `active` again. Other tenants, and invitations there, are not affected. Only for memberships that were accepted (422). A platform administrator takes over a suspension by the tenant this way.',
      ),
  })
  .meta({
    id: 'UpdateMembershipInput',
    description: 'A field that is left out keeps its value.',
    examples: [{ role: 'viewer' }, { status: 'suspended' }],
  });
export type UpdateMembershipInput = z.infer<typeof UpdateMembershipInputSchema>;

const membershipRecord = { tagExcludes: [] };

const tag = 'Tenants';
const tenant = { tenant_id: LookupIdSchema.describe("The tenant's id.") };
const member = { ...tenant, user_id: LookupIdSchema.describe("The user's id.") };
const SubTenantQuerySchema = z.string().max(128).nullish();
const subTenantQuery = {
  sub_tenant_id: SubTenantQuerySchema.meta({
    description:
      'The sub-tenant of the membership. If it is left out or empty: the membership in the whole tenant, or in the sub-tenant that the caller is limited to.',
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
    'Creates a membership that is pending until the invited user accepts it. A person who is not registered signs in with the invited email first. The invitation can be accepted for 14 days, as long as the inviter still holds the rights to offer it. An invitation that can no longer be accepted is replaced by the new one.',
  params: tenant,
  body: CreateMembershipInputSchema,
  record: membershipRecord,
  output: MembershipSchema,
  errors: ['tenant_limit_reached', 'tenant_not_found', 'membership_exists', 'grant_exceeds_own', 'invitation_void'],
});

export const listMemberships = operation({
  method: 'GET',
  path: '/v1/tenants/{tenant_id}/memberships',
  operationId: 'list_memberships',
  scope: 'memberships:read',
  tag,
  summary: 'List the members of a tenant',
  description:
    'Lists the memberships in a tenant and its sub-tenants, newest first. Invitations that have not been accepted are listed as `pending`.',
  params: tenant,
  query: {
    sub_tenant_id: z.string().max(128).nullish().describe('Only memberships in this sub-tenant.'),
    role: RoleSchema.nullish().describe('Only memberships with this role.'),
    status: MembershipStatusSchema.nullish().describe('Only memberships with this status.'),
    text: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .describe('Only memberships whose email contains this text. ASCII letters are compared case-insensitively.'),
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
  summary: "Change a member's role, or suspend the membership",
  description:
    'Changes the role of the member, or suspends the membership and ends the gateway sessions that the user has there. Only a caller who holds all scopes of the role may do that, or end the suspension. Only platform administrators may end a suspension by the platform (403). The new role may include no scope that the caller does not hold there (403), and a tenant must keep at least one owner (409).',
  params: member,
  query: subTenantQuery,
  body: UpdateMembershipInputSchema,
  record: membershipRecord,
  ifMatch: membershipRecord,
  output: MembershipSchema,
  errors: ['tenant_not_found', 'membership_not_found', 'grant_exceeds_own', 'last_owner', 'suspended_by_platform'],
});

export const deleteMembership = operation({
  method: 'DELETE',
  path: '/v1/tenants/{tenant_id}/memberships/{user_id}',
  operationId: 'delete_membership',
  scope: 'memberships:write',
  ownIdParameter: 'user_id',
  tag,
  summary: 'Remove a member',
  description:
    'Ends a membership and the gateway sessions that the user has there, or withdraws an invitation. Users need no scope to leave a tenant or to decline an invitation. A tenant must keep at least one owner (409). Only platform administrators may remove a membership that the platform suspended (403), because a new invitation would end the suspension.',
  params: member,
  query: subTenantQuery,
  record: membershipRecord,
  ifMatch: membershipRecord,
  output: MembershipSchema,
  errors: ['tenant_not_found', 'membership_not_found', 'grant_exceeds_own', 'last_owner', 'suspended_by_platform'],
});

export const acceptMembership = operation({
  method: 'POST',
  path: '/v1/me/memberships/{tenant_id}/accept',
  operationId: 'accept_membership',
  scope: null,
  tag,
  summary: 'Accept your own membership',
  description:
    'Accepts an invitation. Only users may do this, with a bearer token. `get_user` with your own id lists your invitations as `pending`. After you accept, you hold the role. The administrators of the tenant can then see you, and they can suspend your membership, and delete you as long as all memberships that you have accepted are in their reach. To decline instead, delete your own membership.',
  params: tenant,
  query: {
    sub_tenant_id: SubTenantQuerySchema.describe(
      'The sub-tenant of the membership. If it is left out or empty: the membership in the whole tenant, or else your only membership in the tenant.',
    ),
  },
  record: membershipRecord,
  ifMatch: membershipRecord,
  output: MembershipSchema,
  errors: ['user_required', 'membership_not_found', 'membership_accepted', 'invitation_expired', 'invitation_void'],
});
