import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsOptional, Matches } from 'class-validator';
import { Id, NestedList, Text } from './billing/fields.js';
import { PLANNED_ACCOUNTS_MAX, type TenantChange, type TenantFault } from './billing/tenants.js';
import { Endpoint } from './endpoint.js';
import { NAME_LENGTH_MAX } from './rules/bounds.js';

const MEMBERS_MAX = 1_000;
const SHA256_HEX = /^[0-9a-f]{64}$/;

/** Roles in an account or one of its projects. */
export const MEMBER_ROLES = [
  ...['owner', 'finance', 'developer', 'viewer'],
  ...['project-developer', 'project-member', 'project-viewer'],
] as const;
type MemberRole = 'owner' | 'finance' | 'developer' | 'viewer' | 'project-developer' | 'project-member' | 'project-viewer';

/** A person with a role in an account, or in one of its projects. */
export class TenantMember {
  @Text(254) email!: string;
  @IsIn(MEMBER_ROLES) role!: MemberRole;
  /** Name of the project, for a role of one project. */
  @IsOptional() @Text(NAME_LENGTH_MAX) project?: string;
}

class AccountMembers {
  /** Absent: the account is new, and so are all its members. */
  @IsOptional() @Id() accountId?: string;
  /** Checked one by one: a fault is in the plan of its account. */
  @IsArray() @ArrayMaxSize(MEMBERS_MAX) members!: TenantMember[];
}

export class MemberPlanRequest {
  @NestedList(() => AccountMembers, PLANNED_ACCOUNTS_MAX) accounts!: AccountMembers[];
}

export interface MemberPlan {
  faults: TenantFault[];
  /** Changes of kind `member`. A person who is unknown is invited: the field `invite` has the role. */
  changes: TenantChange[];
  /** Roles and open invites that the account has and the list does not. Roles of a provider's groups are not compared. */
  removals: TenantChange[];
  notes: string[];
}

export interface MemberPlanReply {
  plans: MemberPlan[];
}

export const memberPlan = new Endpoint<MemberPlanRequest, MemberPlanReply>('panel.v1.member.plan', MemberPlanRequest, {
  about: 'Compares the people of accounts with lists of them, and changes nothing',
  isRepeatable: true,
});

export class MemberApplyRequest {
  @Id() accountId!: string;
  @NestedList(() => TenantMember, MEMBERS_MAX) members!: TenantMember[];
  /** True: roles and open invites that the list does not have end. */
  @IsOptional() @IsBoolean() prune?: boolean;
  /** The file of the list, for the journal. */
  @Text(NAME_LENGTH_MAX) fileName!: string;
  /** Hex SHA-256 of the file. */
  @Matches(SHA256_HEX) fileDigest!: string;
}

export interface MemberInvite {
  email: string;
  /** Works once. */
  link: string;
  expiresAt: string;
}

export interface MemberApplyReply {
  accountId: string;
  changes: TenantChange[];
  /** Links of people who were invited. They are not shown again: another invite makes another link. */
  invites: MemberInvite[];
}

/** Gives people who exist their roles, and invites the others, in one transaction. Replies `conflict` when the account would lose its last owner. */
export const memberApply = new Endpoint<MemberApplyRequest, MemberApplyReply>('panel.v1.member.apply', MemberApplyRequest, {
  about: 'Brings the people of an account and their roles to those of a list',
  isRecorded: true,
});
