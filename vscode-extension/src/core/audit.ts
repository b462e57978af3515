/** Show what left this machine, as text. */

import { counted } from './numbers'
import type { AuditResult, AuditedRequest } from './protocol'

export function auditText(audit: AuditResult): string {
  const { today, requests } = audit
  const cap = today.daily_tokens === undefined ? '' : ` of ${counted(today.daily_tokens)}`
  return [
    `Sent to other machines since midnight UTC: ${counted(today.requests)} requests, ` +
      `${counted(today.tokens)}${cap} tokens, $${today.cost_usd.toFixed(4)}`,
    ...(audit.log ? [`Log: ${audit.log}`] : []),
    ...(requests.length ? [] : ['', 'Nothing has been sent to a language model yet.']),
    ...requests.flatMap((one) => ['', ...linesOf(one)]),
    '',
  ].join('\n')
}

function linesOf(one: AuditedRequest): string[] {
  const masked = Object.entries(one.redactions).map(([kind, count]) => `${count} × ${kind}`)
  const here = one.remote ? '' : ' (this machine)'
  return [
    `${one.time}  ${one.model} at ${one.destination}${here}: ${counted(one.bytes)} bytes, ` +
      `${counted(one.tokens)} tokens, ${one.outcome?.replace('_', ' ') ?? 'no answer yet'}`,
    ...(masked.length ? [`    masked: ${masked.join(', ')}`] : []),
    ...one.files.map((file) => `    ${file}`),
  ]
}
