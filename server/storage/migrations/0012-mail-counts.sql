-- Notifications sent by email one by one, of an account ('account ID') or a project ('project ID') in an hour.
CREATE TABLE mail_counts (
  subject text {{binary}} NOT NULL,
  -- Hours since 1970.
  hour integer NOT NULL,
  mails integer NOT NULL,
  PRIMARY KEY (subject, hour)
) {{without_rowid}};
