-- Notifications sent by email one by one, of an account ('account ID') or a project ('project ID') in an hour.
CREATE TABLE mail_counts (
  subject TEXT NOT NULL,
  -- Hours since 1970.
  hour INTEGER NOT NULL,
  mails INTEGER NOT NULL,
  PRIMARY KEY (subject, hour)
) WITHOUT ROWID;
