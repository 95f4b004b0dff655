-- note_follow(ctx, own, event): the task that the policy wants after this step waits in the outbox; or, in a call that may enqueue it
-- itself, for the end of this call.
local function note_follow(ctx, own, event)
  local word = string.sub(event, 8)
  local wanted, lane, priority = string.match(';' .. text_of(own, 'p_follows'), ';' .. word .. '|([^|]*)|([^|]*)|(%d)')
  if not wanted then return end
  local follow = { id = own.id, seq = string.format('%.0f', own.seq),
    text = table.concat({ word, string.format('%.0f', own.rev), own.digest, wanted, lane, priority }, ' ') }
  if ctx.follows then
    ctx.follows[#ctx.follows + 1] = follow
  else
    put_out(ctx, follow)
  end
end
