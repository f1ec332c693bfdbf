import type { ServerResponse } from 'node:http';
import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { OwnKeys } from '../../clients/own-keys.js';
import { ReceiptKeys } from '../../clients/receipt-keys.js';
import type { GatewayRequest } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { RequestRates } from '../limits/request-rates.js';
import { writeJson } from '../replies/write-reply.js';
import { ROUTES } from '../routes.js';
import { nameOwner } from './name-owner.js';

/** Receipts of requests, and the public keys that check them. */
@Controller()
export class ReceiptsController {
  constructor(
    private readonly keys: OwnKeys,
    private readonly receiptKeys: ReceiptKeys,
    private readonly rates: RequestRates,
  ) {}

  @Get(ROUTES.receipt.path)
  @UseGuards(ApiKeyGuard)
  async receipt(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse, @Param('id') requestId: string): Promise<void> {
    const { file } = await this.keys.receipt({ ...nameOwner(exchange), requestId });
    writeJson(exchange, response, file, RECEIPT_TYPE);
  }

  @Get(ROUTES.receiptKeys.path)
  async published(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    this.rates.countPublic(exchange);
    writeJson(exchange, response, await this.receiptKeys.read());
  }
}

/** Lines of JSON. */
export const RECEIPT_TYPE = 'application/jsonl';
