-- replies_on_end(ctx, id, how, value): answer the clients that wait for the task's reply.
-- READS reply
-- WHEN own.reply and value
local function replies_on_end(ctx, id, how, value)
  answer_waiters(ctx, id, how, value)
end
