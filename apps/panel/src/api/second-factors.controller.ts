import { Body, Controller, Param, Req } from '@nestjs/common';
import { IdPipe } from '../http/id.pipe.js';
import { requestAuthor } from '../http/request-author.js';
import { Handles } from '../http/route.decorator.js';
import { SecondFactors } from '../identity/second-factors.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import {
  type AddedSecondFactor,
  type NewAppSecret,
  type NewPasskeyOptions,
  type RecoveryCodesReply,
  SecondFactorAddRequest,
  type SecondFactorListReply,
} from '../shapes/identity.js';

/** Second factors of the signed-in person. */
@Controller()
export class SecondFactorsController {
  constructor(private readonly factors: SecondFactors) {}

  @Handles('listSecondFactors')
  list(@Req() request: PanelRequest): Promise<SecondFactorListReply> {
    return this.factors.list(requireCaller(request));
  }

  @Handles('makeAppSecret')
  makeSecret(@Req() request: PanelRequest): NewAppSecret {
    return this.factors.makeAppSecret(requireCaller(request));
  }

  @Handles('makePasskeyOptions')
  makeOptions(@Req() request: PanelRequest): Promise<NewPasskeyOptions> {
    return this.factors.makePasskeyOptions(requireCaller(request));
  }

  @Handles('addSecondFactor')
  add(@Req() request: PanelRequest, @Body() body: SecondFactorAddRequest): Promise<AddedSecondFactor> {
    return this.factors.add(requireCaller(request), body, requestAuthor(request));
  }

  @Handles('removeSecondFactor')
  remove(@Req() request: PanelRequest, @Param('factorId', IdPipe) factorId: string): Promise<void> {
    return this.factors.remove(requireCaller(request), factorId, requestAuthor(request));
  }

  @Handles('makeRecoveryCodes')
  makeCodes(@Req() request: PanelRequest): Promise<RecoveryCodesReply> {
    return this.factors.makeRecoveryCodes(requireCaller(request), requestAuthor(request));
  }
}
