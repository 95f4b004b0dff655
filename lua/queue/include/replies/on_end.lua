-- replies_on_end(ctx, id, how, value): answer the clients that wait for the task's reply. If the server is full, they do not
-- get a result above 4 KiB.
-- READS reply
-- WHEN own.reply and value
local function replies_on_end(ctx, id, how, value)
  if how == 'completed' and #value > 4096 and is_full() then how, value = 'result_dropped', '' end
  answer_waiters(ctx, id, how, value)
end
