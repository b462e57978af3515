/** Format the requests sent to language models as text. */

import { formatNumber, plural } from './numbers'
import type { AuditResult, AuditedRequest } from './protocol'

export function auditText(audit: AuditResult): string {
  const { today, requests } = audit
  const limit = today.daily_tokens === undefined ? '' : ` of ${formatNumber(today.daily_tokens)}`
  return [
    `Sent to other machines since midnight UTC: ${plural(today.requests, 'request')}, ` +
      `${formatNumber(today.tokens)}${limit} tokens, $${today.cost_usd.toFixed(4)}`,
    ...(audit.log ? [`Log: ${audit.log}`] : []),
    ...(requests.length ? [] : ['', 'Nothing has been sent to a language model yet.']),
    ...requests.flatMap((request) => ['', ...requestLines(request)]),
    '',
  ].join('\n')
}

function requestLines(request: AuditedRequest): string[] {
  const masked = Object.entries(request.redactions).map(([kind, count]) => `${count} × ${kind}`)
  const local = request.remote ? '' : ' (this machine)'
  return [
    `${request.time}  ${request.model} at ${request.destination}${local}: ${formatNumber(request.bytes)} bytes, ` +
      `${formatNumber(request.tokens)} tokens, ${request.outcome?.replace('_', ' ') ?? 'no answer yet'}`,
    ...(masked.length ? [`    masked: ${masked.join(', ')}`] : []),
    ...request.files.map((file) => `    ${file}`),
  ]
}
