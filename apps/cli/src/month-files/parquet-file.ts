import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import type { MonthColumn } from '#contracts/billing/months.js';

/** Rows of a row group. They are in memory until the group is written. */
const GROUP_ROWS = 20_000;

type Value = string | bigint | boolean | null;

interface Form {
  /** Type of the column in the schema of Parquet. */
  type: Record<string, unknown>;
  parse: (text: string) => Value;
}

const INT64 = { type: 'INT64' };

/** Amounts are exact: 64-bit integers, or decimals of 38 digits. */
const FORMS: Record<MonthColumn, Form> = {
  id: { type: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } }, parse: (text) => text },
  text: { type: { type: 'BYTE_ARRAY', converted_type: 'UTF8' }, parse: (text) => text },
  json: { type: { type: 'BYTE_ARRAY', converted_type: 'JSON' }, parse: (text) => text },
  time: {
    type: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } },
    parse: (text) => BigInt(Date.parse(`${text.slice(0, 19)}Z`)) * 1_000n + BigInt(text.slice(20, 26)),
  },
  count: { type: INT64, parse: BigInt },
  amount: { type: INT64, parse: BigInt },
  sum: {
    type: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, converted_type: 'DECIMAL', precision: 38, scale: 0 },
    parse: BigInt,
  },
  flag: { type: { type: 'BOOLEAN' }, parse: (text) => text === 'true' },
};

/** Writes a Parquet file in row groups of one size, so that the same rows make the same file. */
export class ParquetFile {
  private readonly names: string[];
  private readonly forms: Form[];
  private readonly writer: ParquetWriter;
  private columns: Value[][];

  constructor(path: string, columns: Readonly<Record<string, MonthColumn>>) {
    this.names = Object.keys(columns);
    this.forms = Object.values(columns).map((column) => FORMS[column]);
    const fields = this.names.map((name, index) => ({ name, repetition_type: 'OPTIONAL', ...this.forms[index]?.type }));
    const schema = [{ name: 'root', num_children: fields.length }, ...fields];
    this.writer = new ParquetWriter({
      writer: fileWriter(path),
      schema: schema as ConstructorParameters<typeof ParquetWriter>[0]['schema'],
      statistics: false,
    });
    this.columns = this.forms.map(() => []);
  }

  async add(rows: readonly (string | null)[][]): Promise<void> {
    for (const row of rows) {
      for (const [index, text] of row.entries()) this.columns[index]?.push(text === null ? null : (this.forms[index] as Form).parse(text));
      if (this.columns[0]?.length === GROUP_ROWS) await this.writeGroup();
    }
  }

  async finish(): Promise<void> {
    if (this.columns[0]?.length) await this.writeGroup();
    await this.writer.finish();
  }

  private async writeGroup(): Promise<void> {
    const columnData = this.names.map((name, index) => ({ name, data: this.columns[index] ?? [] }));
    this.columns = this.forms.map(() => []);
    await this.writer.write({ columnData, rowGroupSize: GROUP_ROWS });
  }
}
