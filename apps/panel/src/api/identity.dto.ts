import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsBoolean, IsIn, IsOptional } from 'class-validator';
import { Id, Instant, Text } from '#contracts/billing/fields.js';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import { PERMISSIONS, ROLES } from '../permissions/permissions.js';
import { PageQuery } from '../requests/page.js';
import type {
  ConfirmBody,
  InviteAcceptBody,
  InviteCreateBody,
  InviteShowBody,
  MemberUpdateBody,
  MeUpdateBody,
  Permission,
  Role,
  SignInBody,
  SsoStartQuery,
  TokenCreateBody,
} from '../shapes/identity.js';

/** Longer than any e-mail or password, so that a hash never gets more. */
const CREDENTIAL_MAX = 1_000;

export class SignInRequest implements SignInBody {
  @Text(CREDENTIAL_MAX) email!: string;
  @Text(CREDENTIAL_MAX) password!: string;
}

export class ConfirmRequest implements ConfirmBody {
  @Text(CREDENTIAL_MAX) password!: string;
}

export class MeUpdateRequest implements MeUpdateBody {
  @IsOptional() @Text(NAME_LENGTH_MAX) name?: string;
  @IsOptional() @Text(CREDENTIAL_MAX) password?: string;
  @IsOptional() @Text(CREDENTIAL_MAX) currentPassword?: string;
}

export class ScopeQuery {
  @IsOptional() @Id() accountId?: string;
}

export class ScopedPageQuery extends PageQuery {
  @IsOptional() @Id() accountId?: string;
}

export class MemberUpdateRequest implements MemberUpdateBody {
  @IsOptional() @Id() accountId?: string;
  @IsOptional() @IsIn(ROLES) role?: Role;
  @IsOptional() @IsBoolean() disabled?: boolean;
}

export class InviteCreateRequest implements InviteCreateBody {
  @Text(CREDENTIAL_MAX) email!: string;
  @IsOptional() @Id() accountId?: string;
  @IsIn(ROLES) role!: Role;
}

export class InviteShowRequest implements InviteShowBody {
  @Text(100) token!: string;
}

export class InviteAcceptRequest implements InviteAcceptBody {
  @Text(100) token!: string;
  @IsOptional() @Text(CREDENTIAL_MAX) email?: string;
  @IsOptional() @Text(NAME_LENGTH_MAX) name?: string;
  @Text(CREDENTIAL_MAX) password!: string;
}

export class TokenCreateRequest implements TokenCreateBody {
  @IsOptional() @Id() tokenId?: string;
  @Text(NAME_LENGTH_MAX) name!: string;
  @IsOptional() @Id() accountId?: string;
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(PERMISSIONS.length)
  @ArrayUnique()
  @IsIn(PERMISSIONS, { each: true })
  permissions!: Permission[];
  @Instant() expiresAt!: string;
}

export class SsoStartRequest implements SsoStartQuery {
  @IsOptional() @Text(1_000) returnTo?: string;
  @IsOptional() @IsIn(['true']) confirm?: string;
}
