import { readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import ts from 'typescript';
import { SchemaWriter } from './json-schema.mjs';

const ROOT = 'libs/contracts/src/every-contract.ts';
const REFUSALS = 'libs/contracts/src/service-error.ts';
const KINDS = {
  Endpoint: 'request',
  EveryReplicaEndpoint: 'request',
  ReplicaEndpoint: 'request',
  StreamEndpoint: 'stream',
  Topic: 'event',
};

/**
 * Reads all contracts in the order of their files: `{ name, kind, subject, description, isRecorded, comment?, input, output? }`, with JSON schemas from
 * the types and decorators of the sources. `schemas` has the named schemas, and the error codes.
 */
export function readContracts() {
  const { config } = ts.readConfigFile('tsconfig.json', (file) => readFileSync(file, 'utf8'));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, process.cwd());
  const program = ts.createProgram([ROOT, REFUSALS], { ...options, types: [], noEmit: true });
  const checker = program.getTypeChecker();
  const writer = new SchemaWriter(checker);
  const folder = dirname(ROOT);
  const files = listImports(program.getSourceFile(ROOT), program, options).filter(
    (file) => !relative(folder, file.fileName).startsWith('..'),
  );
  const contracts = files.flatMap((file) =>
    file.statements.filter(ts.isVariableStatement).flatMap((statement) => contractsIn(statement, checker, writer)),
  );
  writer.renderSchema(typeIn(program.getSourceFile(REFUSALS), 'ServiceErrorCode', checker));
  return { contracts, schemas: writer.schemas() };
}

function typeIn(file, name, checker) {
  const declaration = file.statements.find((statement) => ts.isTypeAliasDeclaration(statement) && statement.name.text === name);
  return checker.getDeclaredTypeOfSymbol(checker.getSymbolAtLocation(declaration.name));
}

function listImports(file, program, options) {
  return file.statements
    .filter(ts.isImportDeclaration)
    .map(({ moduleSpecifier }) => ts.resolveModuleName(moduleSpecifier.text, file.fileName, options, ts.sys).resolvedModule)
    .map(({ resolvedFileName }) => program.getSourceFile(resolvedFileName));
}

function contractsIn(statement, checker, writer) {
  return statement.declarationList.declarations.flatMap((declaration) => {
    const made = declaration.initializer;
    const kind = made && ts.isNewExpression(made) ? KINDS[made.expression.getText()] : undefined;
    if (!kind) return [];
    const [subject, , rules] = made.arguments;
    const findRule = (name) =>
      ts.isObjectLiteralExpression(rules) && rules.properties.find((property) => property.name.text === name)?.initializer;
    const [input, output] = checker.getTypeArguments(checker.getTypeAtLocation(declaration.name));
    const comment = ts.displayPartsToString(checker.getSymbolAtLocation(declaration.name).getDocumentationComment(checker));
    return [
      {
        name: declaration.name.getText(),
        kind,
        subject: subject.text,
        description: (findRule('about') || rules).text,
        isRecorded: findRule('isRecorded')?.kind === ts.SyntaxKind.TrueKeyword,
        comment: comment || undefined,
        input: writer.renderSchema(input),
        ...(output && { output: writer.renderSchema(output) }),
      },
    ];
  });
}
