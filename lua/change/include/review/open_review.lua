-- open_review(ctx, own, by): the requests of a change can be answered from now on; their times begin.
local function open_review(ctx, own, by)
  set_field(own, 'asked_ms', ctx.now)
  set_field(own, 'timeout_at_ms', ctx.now + number_of(own, 'p_timeout_ms'))
  set_field(own, 'remind_at_ms', number_of(own, 'p_remind_ms') > 0 and ctx.now + number_of(own, 'p_remind_ms') or 0)
  set_field(own, 'level', 0)
  set_field(own, 'escalate_at_ms', text_of(own, 'p_escalate_to') ~= '' and ctx.now + number_of(own, 'p_escalate_ms') or 0)
  enter_inboxes(own)
  record_step(ctx, own, 'change.reviewing', by, '', '')
end
